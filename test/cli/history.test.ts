import assert from 'node:assert/strict'
import { readFile, writeFile } from 'node:fs/promises'
import { globSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { claims, filing, project, records, terminal } from './support.ts'

const inputs = ['--input', 'notes=Water', '--input', 'tone=calm']

describe('commands about earlier runs', { concurrency: 4 }, () => {
  test('diff prints differences by line, and as data', async () => {
    await using folder = await project(claims)
    await folder.reprise('run', '--id', 'first', ...inputs)
    await folder.reprise('replay', '-t', 'note', '--id', 'second', '--input', 'tone=kind')
    const { code, stdout } = await folder.reprise('diff', 'first', 'latest')
    assert.equal(code, 0)
    assert.match(stdout, /^--- run first of crew claims$/m)
    assert.match(stdout, /^ {2}- Urgentcalm\n {2}\+ Urgentkind$/m)
    assert.match(stdout, /\n\nThe same in both: facts\n {2}inherited in the second run: facts\n$/)
    const [data] = records(await folder.reprise('diff', 'first', 'second', '--json'))
    assert.equal(data?.['first'], 'note')
    const same = await folder.reprise('diff', 'first', 'first')
    assert.match(same.stdout, /are the same/)
    assert.doesNotMatch(same.stdout, /inherited/)
    await folder.reprise('fork', '--run', 'first', '--id', 'third')
    const copied = await folder.reprise('diff', 'third', 'first')
    assert.match(copied.stdout, /are the same[^]*\n {2}inherited in the first run: facts, note\n$/)
    const unnamed = await folder.reprise('diff', 'first')
    assert.match(unnamed.stderr, /^error: the second run isn't named; give its id/)
  })

  test('show --lineage draws ancestors and descendants, deleted ones too, and runs --parent lists them', async () => {
    await using folder = await project(claims)
    await folder.reprise('run', '--id', 'first', ...inputs)
    for (const id of ['second', 'third']) await folder.reprise('replay', '-t', 'note', '--run', 'first', '--id', id)
    await folder.reprise('replay', '-t', 'note', '--run', 'third', '--id', 'fourth')
    const tree = (await folder.reprise('show', 'first', '--lineage')).stdout
    assert.match(
      tree,
      /^first +completed .*\n├─ second +completed .*\n└─ third +completed .*\n {3}└─ fourth +completed .*\n$/,
    )
    const children = records(await folder.reprise('runs', '--parent', 'first', '--since', '1h', '--json'))
    assert.deepEqual(
      children.map((run) => run['runId']),
      ['third', 'second'],
    )
    assert.equal(records(await folder.reprise('runs', '--until', '2020-01-31', '--json')).length, 0)
    assert.match(
      (await folder.reprise('runs', '--since', 'soon')).stderr,
      /^error: --since is "soon"; give an age such as/,
    )
    assert.equal((await folder.reprise('delete', 'third')).code, 0)
    assert.match((await folder.reprise('show', 'fourth', '--lineage')).stdout, /^third +deleted\n└─ fourth +completed/)
    assert.match((await folder.reprise('runs')).stdout, /^fourth .* third \(deleted\)$/m)
    const [found] = records(await folder.reprise('show', 'fourth', '--lineage', '--json'))
    assert.deepEqual(found?.['ancestors'], [{ runId: 'third', deleted: true }])
  })

  test('delete requires a full id where there is no terminal to confirm at', async () => {
    await using folder = await project(claims)
    await folder.reprise('run', '--id', 'claim-10', ...inputs)
    const refused = await folder.reprise('delete', 'claim-1')
    assert.equal(refused.code, 5)
    assert.match(refused.stderr, /^error: there is no run claim-1; to end or delete run claim-10, give its whole id/)
    assert.equal((await folder.reprise('cancel', 'claim-1')).code, 5)
    assert.equal((await folder.reprise('delete', 'claim-10')).code, 0)
    assert.equal((await folder.reprise('delete', 'claim-10')).code, 5)
  })

  test('prune deletes the runs within all limits, prints them beforehand, and refuses to guess', async () => {
    await using folder = await project(claims)
    await folder.reprise('run', '--id', 'old', ...inputs)
    await folder.reprise('run', '--id', 'open', '--through', 'facts', ...inputs)
    await folder.reprise('run', '--id', 'new', ...inputs)
    const unsaid = await folder.reprise('prune')
    assert.equal(unsaid.code, 2)
    assert.match(unsaid.stderr, /reprise prune --older-than 30d --dry-run\n$/)
    const dry = await folder.reprise('prune', '--keep', '1', '--dry-run')
    assert.match(dry.stdout, /^run +crew +status +updated\nold +claims +completed /)
    assert.match(dry.stderr, /1 run would be deleted\n$/)
    assert.equal((await folder.reprise('prune', '--older-than', '30d', '--json')).stdout, '')
    assert.equal((await folder.reprise('prune', '--status', 'lost')).code, 2)
    const pruned = records(await folder.reprise('prune', '--keep', '1', '--json', '--crew', 'claims'))
    assert.deepEqual(
      pruned.map(({ runId, deleted }) => ({ runId, deleted })),
      [{ runId: 'old', deleted: true }],
    )
    assert.deepEqual(
      records(await folder.reprise('runs', '--json')).map((run) => run['runId']),
      ['new', 'open'],
    )
  })

  test('an exported run is imported elsewhere, under another id too, and can be replayed there', async () => {
    await using folder = await project(claims)
    await folder.reprise('run', '--id', 'first', ...inputs)
    assert.equal((await folder.reprise('export', 'first', 'run.jsonl')).code, 0)
    assert.match((await folder.reprise('export', 'first', 'run.jsonl')).stderr, /^error: run\.jsonl exists.*--force/)
    assert.equal((await folder.reprise('export', 'first', 'run.jsonl', '--force')).code, 0)
    const file = await readFile(join(folder.path, 'run.jsonl'), 'utf8')
    const { stdout } = await folder.reprise('export', 'first', '-')
    assert.deepEqual(stdout.split('\n').slice(1, -2), file.split('\n').slice(1, -2))
    const store = ['--store', 'file:elsewhere']
    const imported = await folder.reprise('import', 'run.jsonl', ...store)
    assert.equal(imported.stdout, 'first\n')
    assert.match(imported.stderr, /look at it with: npx reprise show first --store file:elsewhere\n$/)
    const [copy] = records(await folder.reprise('import', 'run.jsonl', '--as', 'copy', '--json', ...store))
    assert.deepEqual([copy?.['runId'], copy?.['status'], copy?.['existed']], ['copy', 'completed', false])
    assert.equal(
      (await folder.reprise('replay', '-t', 'note', '--run', 'copy', ...store)).stdout,
      'Urgentcalm\nSecond line\n',
    )
    await folder.write('broken.jsonl', file.replace('Water', 'Fire'))
    assert.equal((await folder.reprise('import', 'broken.jsonl', '--as', 'other')).code, 1)
  })

  test('show --verify reports hand edits, and what a resume recorded about them', async () => {
    await using folder = await project(claims)
    const store = ['--store', 'file:runs']
    await folder.reprise('run', '--id', 'first', ...inputs, ...store)
    const whole = await folder.reprise('show', 'first', '--verify', ...store)
    assert.equal(whole.code, 0)
    assert.match(whole.stdout, /^journal +whole\nentries +11$/m)
    const [journal = ''] = globSync(join(folder.path, 'runs', '**', '*.jsonl'))
    const lines = (await readFile(journal, 'utf8')).split('\n')
    const kept = lines.filter((line) => !line.includes('"task.completed","path":"note#1"'))
    assert.equal(kept.length, lines.length - 1)
    await writeFile(journal, kept.map((line) => line.replace('"result":"Ada"', '"result":"Eve"')).join('\n'))
    const edited = await folder.reprise('show', 'first', '--verify', ...store)
    assert.equal(edited.code, 1)
    assert.match(
      edited.stdout,
      /^edited +by hand or by damage: 1 entry removed \(10\), 1 entry changed \(5\); not recorded yet$/m,
    )
    assert.match(edited.stderr, /; continue with: npx reprise resume first --store file:runs\n$/)
    assert.equal((await folder.reprise('resume', 'first', ...store)).code, 0)
    const [check] = records(await folder.reprise('show', 'first', '--verify', '--json', ...store))
    assert.equal(check?.['whole'], true)
    assert.deepEqual(check?.['recorded'], [{ entry: 12, missing: [10], changed: [5], tasks: ['note'] }])
    const now = (await readFile(journal, 'utf8')).trimEnd().split('\n')
    await writeFile(journal, `${now.slice(0, -3).join('\n')}\n`)
    const cut = await folder.reprise('show', 'first', '--verify', ...store)
    assert.equal(cut.code, 1)
    const last = now.length + 1
    assert.match(cut.stdout, new RegExp(`3 entries removed \\(${last - 2} to ${last}\\); not recorded yet`))
  })
})

describe('commands about active runs', { concurrency: 4 }, () => {
  test('prune --all needs confirmation, deletes all runs or those of a crew, and spares runs that a process executes', async () => {
    await using folder = await project(claims)
    await folder.write('filing.ts', filing)
    await folder.reprise('run', '--id', 'open', '--through', 'facts', ...inputs)
    await folder.reprise('run', '--id', 'done', ...inputs)
    await folder.reprise('backtest', '-t', 'note', '--id', 'trial')
    const started = folder.start(['run', 'filing.ts', '--id', 'held'], { HANG: '1' })
    await started.says('file_claim called')
    const refused = await folder.reprise('prune', '--all')
    assert.equal(refused.code, 2)
    assert.match(refused.stderr, /^error: 3 runs in sqlite:.*reprise prune --all --yes/)
    // what it says to type deletes no more than what was asked for
    const store = ['--store', 'sqlite:.reprise/runs.db']
    const ofCrew = await folder.reprise('prune', '--all', '--crew', 'claims', ...store)
    const next = `confirm with: npx reprise prune --all --crew claims ${store.join(' ')} --yes\n`
    assert.ok(ofCrew.stderr.startsWith('error: 3 runs of crew claims in sqlite:') && ofCrew.stderr.endsWith(next))
    const asked = await folder.press(
      ['prune', '--all', '--crew', 'claims'],
      ['Delete 3 runs of crew claims in', 'no\r'],
    )
    assert.equal(asked.code, 2)
    assert.equal(records(await folder.reprise('runs', '--json')).length, 3)
    const crew = await folder.press(['prune', '--all', '--crew', 'claims'], ['for good? [y/N] ', 'y\r'])
    assert.equal(crew.code, 0, crew.stderr)
    assert.match(crew.stderr, /deleted 3 runs\n$/)
    const rest = await folder.reprise('prune', '--all', '--yes', '--json')
    assert.equal(rest.code, 4)
    assert.deepEqual(records(rest), [])
    assert.match(rest.stderr, /not deleted, .*: held; end one with: npx reprise cancel held\n$/)
    started.child.kill('SIGINT')
    await started.ended()
    assert.equal((await folder.reprise('prune', '--all', '--yes')).code, 0)
    assert.match((await folder.reprise('prune', '--all')).stderr, /^deleted 0 runs\n$/)
  })

  test('edit and invalidate change an unfinished run, and refuse a completed one', async () => {
    await using folder = await project(claims)
    await folder.reprise('run', '--id', 'open', '--through', 'facts', ...inputs)
    const unfit = await folder.reprise('edit', 'open', 'facts', '--output', '{"policy":1}')
    assert.equal(unfit.code, 2)
    const output = '{"policy":"P-9","issue":"escape"}'
    const edited = await folder.reprise('edit', 'open', 'facts', '--output', output, '--by', 'ada')
    assert.equal(edited.code, 0)
    assert.match(edited.stderr, /continue with: npx reprise resume open\n$/)
    assert.match((await folder.reprise('show', 'open')).stdout, /^facts {2}edited/m)
    assert.equal((await folder.reprise('edit', 'open', 'facts')).code, 2)
    const typo = await folder.reprise('invalidate', 'open', 'fats')
    assert.equal(typo.code, 5)
    assert.match(typo.stderr, /did you mean facts\?/)
    assert.equal((await folder.reprise('invalidate', 'open', 'facts', '--by', 'ada')).code, 0)
    const resumed = await folder.reprise('resume', 'open', '--budget', 'tokens=50000')
    assert.equal(resumed.code, 0)
    assert.match(resumed.stderr, /task facts started/)
    const ended = await folder.reprise('invalidate', 'open', 'facts')
    assert.equal(ended.code, 1)
    assert.match(ended.stderr, /^error: run open is completed, .*reprise replay --run open/)
    assert.match((await folder.reprise('resume', 'open', '--budget', 'tokens=x')).stderr, /--budget has "x" as tokens/)
  })

  test('edit keeps the text of an editor that fails after saving it, and uses that of one that does not', async () => {
    await using folder = await project(claims)
    await folder.reprise('run', '--id', 'open', '--through', 'facts', ...inputs)
    await folder.write('edit.sh', `echo '{"policy":"P-9","issue":"fire"}' > "$1"; exit $EDITOR_CODE`)
    const edit = (code: string) =>
      folder.start(['edit', 'open', 'facts'], { VISUAL: 'sh edit.sh', EDITOR_CODE: code }, terminal).ended()
    const failed = await edit('3')
    assert.equal(failed.code, 2)
    const [, path = ''] =
      /^error: sh edit\.sh ended with code 3, so nothing was done; your text is in (.+)\n$/.exec(failed.stderr) ?? []
    assert.match(await readFile(path, 'utf8'), /P-9/)
    const gone = await folder.start(['edit', 'open', 'facts'], { VISUAL: 'rm' }, terminal).ended()
    assert.equal(gone.code, 2)
    assert.match(gone.stderr, /^error: the output of facts was not changed, so nothing was done/)
    const edited = await edit('0')
    assert.equal(edited.code, 0, edited.stderr)
    assert.match((await folder.reprise('show', 'open', '--task', 'facts')).stdout, /P-9/)
  })

  test('tail follows a run of another process until a third one cancels it', async () => {
    await using folder = await project(filing)
    const started = folder.start(['run', '--id', 'claim'], { HANG: '1' })
    await started.says('file_claim called')
    const followed = folder.start(['tail', 'claim'])
    const left = folder.start(['tail', 'claim', '--after', '3', '--json'])
    await Promise.all(
      [followed, left].map(({ child }) => new Promise((resolve) => child.stdout?.once('data', resolve))),
    )
    left.child.kill('SIGINT')
    const alone = await left.ended()
    assert.equal(alone.code, 130)
    assert.equal(records(alone)[0]?.['seq'], 4)
    const cancelled = await folder.reprise('cancel', 'claim')
    assert.equal(cancelled.code, 0)
    const ended = await followed.ended()
    assert.equal(ended.code, 1)
    assert.match(ended.stdout, /^ +1 {2}\S+ {2}run claim of crew filing created\n.*task file started/)
    assert.match(ended.stdout, / cancelled by .*\n$/)
    assert.equal((await started.ended()).code, 1)
  })

  test('tail of a run whose process was killed reports it, with the command that continues', async () => {
    await using folder = await project(filing)
    const started = folder.start(['run', '--id', 'claim'], { HANG: '1' })
    await started.says('file_claim called')
    started.child.kill('SIGKILL')
    await started.ended()
    const ended = await folder.reprise('tail', 'claim')
    assert.equal(ended.code, 3)
    assert.match(ended.stderr, /^run claim abandoned: its process is gone; continue with: npx reprise resume claim\n$/)
  })
})
