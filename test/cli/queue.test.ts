import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { sqliteStore } from 'reprise/stores'
import { giveUp } from '../engine/support.ts'
import { claims, filing, imports, project, records } from './support.ts'

const inputs = ['--input', 'notes=Water', '--input', 'tone=kind']

test('enqueue prints the id of a run that a worker executes', async () => {
  await using folder = await project(claims)
  const queued = await folder.reprise('enqueue', ...inputs)
  const id = queued.stdout.trim()
  assert.deepEqual([queued.code, queued.stderr], [0, `run ${id} is queued; execute it with: npx reprise worker\n`])
  const worked = await folder.reprise('worker', '--once')
  assert.equal(worked.code, 0)
  assert.match(worked.stderr, new RegExp(`run ${id} of crew claims: completed after`))
  const again = await folder.reprise('enqueue', 'crew.ts', '--id', id, ...inputs, '--json')
  assert.deepEqual(records(again), [{ runId: id, crew: 'claims', status: 'completed' }])
  assert.equal(again.stderr, `run ${id} already exists (completed); look at it with: npx reprise show ${id}\n`)
})

test('enqueue says that a new run is queued, also if a worker has already executed it', async () => {
  const dispatcher = "dispatcher: { name: 'eager', wake: async ({ runId }) => void (await crew.advance(runId)) }"
  await using folder = await project(claims.replace('tasks: [facts, note]', `tasks: [facts, note], ${dispatcher}`))
  const added = await folder.reprise('enqueue', '--id', 'a', ...inputs)
  assert.equal(added.stderr, 'run a is queued; execute it with: npx reprise worker\n')
  const again = await folder.reprise('enqueue', '--id', 'a', ...inputs)
  assert.equal(again.stderr, 'run a already exists (completed); look at it with: npx reprise show a\n')
})

test('enqueue prints the store for the worker only if the crew file does not name it', async () => {
  await using folder = await project(
    claims.replace('tasks: [facts, note]', "tasks: [facts, note], store: 'file:./state'"),
  )
  const own = await folder.reprise('enqueue', 'crew.ts', '--id', 'own', ...inputs)
  assert.equal(own.stderr, 'run own is queued; execute it with: npx reprise worker crew.ts\n')
  const other = await folder.reprise('enqueue', '--id', 'other', ...inputs, '--store', 'file:./other')
  assert.equal(other.stderr, 'run other is queued; execute it with: npx reprise worker --store file:./other\n')
})

test('enqueue refuses what run refuses, and an unreadable time', async () => {
  await using folder = await project(claims)
  const missing = await folder.reprise('enqueue', '--input', 'notes=Water')
  assert.equal(missing.code, 2)
  assert.match(missing.stderr, /give it with: npx reprise enqueue --input notes=Water --input tone=value/)
  const delay = await folder.reprise('enqueue', ...inputs, '--delay', 'soon')
  assert.deepEqual(
    [delay.code, delay.stderr],
    [2, 'error: --delay is "soon"; give a time such as 500ms, 90s, 10m, 2h or 1d\n'],
  )
  assert.equal((await folder.reprise('enqueue', ...inputs, '--priority', 'urgent')).code, 2)
  await folder.reprise('enqueue', '--id', 'a', ...inputs)
  assert.equal((await folder.reprise('enqueue', '--id', 'a', '--input', 'notes=Fire', '--input', 'tone=kind')).code, 2)
})

test('a worker starts due runs by priority, and reports them as JSON', async () => {
  await using folder = await project(claims)
  const later = await folder.reprise('enqueue', '--id', 'later', ...inputs, '--delay', '1h')
  assert.match(later.stderr, /^run later is queued and starts no earlier than [-\d]+ [:\d]+; execute it with/)
  assert.match((await folder.reprise('show', 'later')).stdout, /: no worker starts it before [-\d]+ [:\d]+ \(/)
  await folder.reprise('enqueue', '--id', 'low', ...inputs, '--priority', 'low')
  await folder.reprise('enqueue', '--id', 'high', ...inputs, '--priority', 'high')
  const worked = await folder.reprise('worker', 'crew.ts', '--once', '--concurrency', '1', '--json')
  const events = records(worked)
  assert.deepEqual(
    events.map(({ type, runId }) => (runId === undefined ? type : `${type as string} ${runId as string}`)),
    ['started', 'claimed high', 'left high', 'claimed low', 'left low', 'stopped'],
  )
  assert.ok(events.every(({ at }) => typeof at === 'string'))
  for (const { seconds = 0 } of events) assert.match(String(seconds), /^\d+(\.\d{1,3})?$/)
  assert.match((await folder.reprise('runs', '--status', 'queued')).stdout, /^later /m)
})

test('a worker serves all crews of its files, and refuses a file without a crew', async () => {
  await using folder = await project(claims)
  await folder.write('other.ts', claims.replaceAll("'claims'", "'other'").replace('const crew', 'const other'))
  await folder.write('none.ts', 'export const x = 1')
  for (const file of ['crew.ts', 'other.ts']) await folder.reprise('enqueue', file, '--id', file, ...inputs)
  const worked = await folder.reprise('worker', 'crew.ts', 'other.ts', '--once')
  for (const name of ['crew.ts of crew claims', 'other.ts of crew other'])
    assert.match(worked.stderr, new RegExp(`run ${name}: completed`))
  const none = await folder.reprise('worker', 'crew.ts', 'none.ts')
  assert.deepEqual(
    [none.code, none.stderr],
    [5, 'error: none.ts exports no crew; add: export const crew = new Crew({ … })\n'],
  )
  const twice = await folder.reprise('worker', 'crew.ts', 'copy.ts')
  assert.equal(twice.code, 5)
})

test('the name of a worker appears in its log, in lists and in show', async () => {
  await using folder = await project(filing.replace('? hang()', "? (console.error('it hangs'), hang())"))
  await folder.reprise('enqueue', '--id', 'a')
  const worker = folder.start(['worker', '--name', 'box-1'], { HANG: '1' })
  await worker.says('it hangs')
  const runs = await folder.reprise('runs')
  assert.match(runs.stdout, /^run +crew +status +tasks +tokens +lives +worker +created\na .* box-1 /)
  assert.match((await folder.reprise('show', 'a')).stdout, /^holder +box-1 \(process \d+ on host \S+\)$/m)
  worker.child.kill('SIGKILL')
  const { stderr } = await worker.ended()
  assert.match(stderr, /serving .* from sqlite:.* as box-1, up to 10 runs at once/)
  const refused = await folder.reprise('worker', '--name', 'a\tb')
  assert.equal(refused.code, 2)
  assert.match(refused.stderr, /^error: name is "a\\tb"; give a name of 1 to 100 characters/)
})

test('a worker says why a run is left, and when a failed run is retried', async () => {
  await using folder = await project(`${imports}
const model = scriptedModel([{ when: 'Greet', reply: 'Hello' }])
const agent = new Agent({ role: 'Greeter', goal: 'Greet', model })
export const judged = new Crew({ name: 'judged', tasks: [new Task({ name: 'greet', description: 'Greet', agent, humanInput: true })] })
const run = () => { throw new Error('the CRM is down') }
export const failing = new Crew({ name: 'failing', tasks: [new Task({ name: 'send', run, effect: 'read' })], retries: { times: 1, backoff: 600 } })
`)
  for (const crew of ['judged', 'failing']) await folder.reprise('enqueue', '--crew', crew, '--id', crew)
  const { stderr } = await folder.reprise('worker', '--once')
  assert.match(
    stderr,
    /run judged of crew judged: suspended after \d\.\ds: it waits until a person answers or resumes it\n/,
  )
  assert.match(
    stderr,
    /run failing of crew failing: failed after \d\.\ds: .*the CRM is down; next try at [-\d]+T[:\d]+Z\n/,
  )
})

test('a worker executes crews written in YAML', async () => {
  await using folder = await project(`${imports}
import { crewFromYaml } from ${JSON.stringify(new URL('../../src/crew/yaml/index.ts', import.meta.url).href)}
const model = scriptedModel([{ when: 'Greet', reply: 'Hello' }])
export const crew = (await crewFromYaml({ name: 'greetings', agents: 'agents.yaml', tasks: 'tasks.yaml' })).with({ model })
await crew.schedule({ cron: '@daily', inputs: { who: 'Ada' } })
`)
  await folder.write('agents.yaml', 'greeter:\n  role: Greeter\n  goal: Greet\n  backstory: Polite\n')
  await folder.write(
    'tasks.yaml',
    'greet:\n  description: Greet {who}\n  expected_output: A greeting\n  agent: greeter\n',
  )
  await folder.reprise('enqueue', '--id', 'a', '--input', 'who=Ada')
  const { stderr } = await folder.reprise('worker', '--once')
  assert.match(stderr, /run a of crew greetings: completed/)
  assert.match(stderr, /run greetings@\S+T00:00:00Z of crew greetings: queued for \d{4}-\d\d-\d\dT00:00:00Z\n/)
})

test('schedule lists the next runs, and queues them if requested', async () => {
  const { crew, times } = scheduled()
  await using folder = await project(crew)
  const listed = await folder.reprise('schedule')
  assert.equal(listed.code, 0)
  assert.match(listed.stdout, /^nightly +0 2 \* \* \* +Europe\/Berlin +\S+ \S+ +not queued +nightly@\S+Z$/m)
  assert.match(listed.stderr, /queue them now with: npx reprise schedule --enqueue/)
  assert.equal(existsSync(join(folder.path, '.reprise')), false)
  const queued = records(await folder.reprise('schedule', 'crew.ts', '--enqueue', '--json'))
  assert.deepEqual(
    queued.map(({ schedule, status, priority }) => [schedule, status, priority]),
    [
      ['nightly', 'queued', 'normal'],
      ['claims', 'queued', 'high'],
    ],
  )
  assert.deepEqual(records(await folder.reprise('schedule', '--enqueue', '--json')).length, times)
  assert.equal(records(await folder.reprise('runs', '--json')).length, times)
  // 80 columns: the time is shortened before an id is
  assert.match((await folder.call(['runs'], { seen: true })).stdout, /^nightly@\S+Z  claims  queued/m)
  await folder.write('crew.ts', claims)
  assert.match(
    (await folder.reprise('schedule')).stderr,
    /^there are no schedules; add one with: npx reprise schedule add --cron '0 2 \* \* \*'\n/,
  )
})

test('a schedule without a next time is listed as never, without a status and without advice', async () => {
  // the library refuses expressions that never match today
  await using folder = await project(`${scheduled().crew}
for (const schedule of await crew.schedules()) Object.assign(schedule, { next: () => undefined })
`)
  const { stdout, stderr } = await folder.reprise('schedule')
  assert.match(stdout, /^nightly +0 2 \* \* \* +Europe\/Berlin +never$/m)
  assert.equal(stderr, '')
})

test('the earlier options for schedules are refused with what to do instead, and nothing is queued', async () => {
  await using folder = await project(scheduled().crew)
  for (const [refusal, instead, ...words] of [
    [
      'error: enqueue has no option --cron: ',
      /^a schedule queues a run .* call crew\.schedule\(.* or add one to the store by the command line .*workers\.md.*\n$/,
      'enqueue',
      ...inputs,
      '--cron',
      '0 2 * * *',
    ],
    [
      'error: schedule list has no option --end: ',
      /^use the command `schedule remove`;/,
      'schedule',
      '--end',
      'nightly',
    ],
  ] as const) {
    const { code, stdout, stderr } = await folder.reprise(...words)
    assert.deepEqual([code, stdout], [2, ''])
    assert.ok(stderr.startsWith(refusal), stderr)
    assert.match(stderr.slice(refusal.length), instead)
  }
  assert.equal(existsSync(join(folder.path, '.reprise')), false)
})

test('an added schedule is listed and removed by commands that need no code, and other lists leave it out', async () => {
  await using folder = await project(claims)
  const cron = ['--cron', '0 2 * * *', '--timezone', 'Europe/Berlin', '--name', 'nightly']
  const added = await folder.reprise('schedule', 'add', 'crew.ts', ...cron, ...inputs)
  assert.deepEqual([added.code, added.stdout], [0, 'nightly\n'])
  assert.match(added.stderr, /^added schedule nightly: the first run of crew claims .*: npx reprise worker crew\.ts\n$/)
  await rm(join(folder.path, 'crew.ts'))
  const listed = await folder.reprise('schedule', 'list')
  assert.match(listed.stdout, /^nightly +claims +0 2 \* \* \* +Europe\/Berlin +[-\d]+ [:\d]+$/m)
  const [record] = records(await folder.reprise('schedule', 'list', '--json'))
  assert.deepEqual(
    [record?.['schedule'], record?.['crew'], record?.['added'], record?.['last'], record?.['problem']],
    ['nightly', 'claims', true, null, null],
  )
  assert.match((await folder.reprise('runs')).stderr, /^no runs/)
  assert.match((await folder.reprise('show', 'latest')).stderr, /there are no runs/)
  assert.match((await folder.reprise('prune', '--all', '--yes')).stderr, /^deleted 0 runs/)
  assert.match((await folder.reprise('runs', '--crew', 'reprise:schedule')).stdout, /^reprise:schedule:nightly /m)
  const unknown = await folder.reprise('schedule', 'remove', 'weekly')
  assert.equal(unknown.code, 5)
  assert.match(
    unknown.stderr,
    /no schedule weekly was added to .*; it has nightly; list all schedules with: npx reprise/,
  )
  assert.equal((await folder.reprise('schedule', 'remove', 'nightly')).code, 0)
  assert.deepEqual(records(await folder.reprise('schedule', 'list', '--json')), [])
  await writeFile(join(folder.path, 'crew.ts'), claims)
  await folder.reprise('schedule', 'add', 'crew.ts', ...cron, ...inputs)
  const cancelled = await folder.reprise('cancel', 'reprise:schedule:nightly~2', '--yes')
  assert.equal(cancelled.stderr, 'cancelled run reprise:schedule:nightly~2, which ends the schedule\n')
  assert.deepEqual(records(await folder.reprise('schedule', 'list', '--json')), [])
})

test('a schedule is added for a crew that is named without its file, and refused with what is wrong', async () => {
  await using folder = await project(claims)
  const added = await folder.reprise('schedule', 'add', 'claims', '--cron', '@daily', ...inputs)
  assert.deepEqual([added.code, added.stdout], [0, 'claims\n'])
  for (const [words, wrong] of [
    [['claims', '--cron', '@daily', ...inputs], /already has a schedule claims of crew claims; remove that one first/],
    [['--cron', '61 * * * *', '--name', 'b', ...inputs], /cron of schedule "b" of crew claims is "61 \* \* \* \*"/],
    [['--cron', '@daily', '--name', 'b'], /give it with: npx reprise schedule add .* --input notes=value/],
    [['other', '--cron', '@daily', ...inputs], /crew\.ts has no export other/],
    [['claims', '--crew', 'claims', '--cron', '@daily'], /the crew is given twice/],
  ] as const) {
    const { code, stdout, stderr } = await folder.reprise('schedule', 'add', ...words)
    assert.notEqual(code, 0)
    assert.equal(stdout, '')
    assert.match(stderr, wrong)
  }
})

test('an invalid schedule is reported with its value when the file is loaded', async () => {
  await using folder = await project(
    `${claims}await crew.schedule({ name: 'nightly', cron: '61 2 * * *', inputs: { notes: '', tone: '' } })`,
  )
  const { code, stderr } = await folder.reprise('worker')
  assert.equal(code, 2)
  assert.match(stderr, /crew\.ts: cron of schedule "nightly" of crew claims is "61 2 \* \* \*"/)
})

const slow = `${imports}
import { setTimeout as wait } from 'node:timers/promises'
const first = new Task({ name: 'first', effect: 'read', run: async ({ signal }) => {
  process.stderr.write('first begun\\n')
  await wait(process.env.SLOW ? 60_000 : 0, undefined, { signal })
  return 'one'
} })
export const crew = new Crew({ name: 'slow', tasks: [first, new Task({ name: 'second', effect: 'read', run: () => 'two' })] })
`

test('SIGTERM releases the runs of a worker, and another worker continues them', async () => {
  await using folder = await project(slow)
  await folder.reprise('enqueue', '--id', 'a')
  const cut = folder.start(['worker', '--grace', '1ms', '--port', '0'], { SLOW: '1' })
  await cut.says('first begun')
  cut.child.kill('SIGTERM')
  const { code, stderr } = await cut.ended()
  assert.equal(code, 0)
  assert.match(stderr, /health and metrics: http:\/\/127\.0\.0\.1:\d+\n/)
  assert.match(stderr, /handed back in the middle of a step: a\n/)
  assert.equal(records(await folder.reprise('runs', '--json'))[0]?.['status'], 'queued')
  assert.match((await folder.reprise('worker', '--once')).stderr, /run a of crew slow: completed/)
})

test('a second signal ends a worker at once, and its runs need not wait for their leases', async () => {
  await using folder = await project(slow)
  await folder.reprise('enqueue', '--id', 'a')
  const twice = folder.start(['worker'], { SLOW: '1' })
  await twice.says('first begun')
  twice.child.kill('SIGTERM')
  await twice.says('stopping: 1 run to hand back')
  const again = setInterval(() => twice.child.kill('SIGTERM'), 100)
  assert.equal((await twice.ended()).code, 130)
  clearInterval(again)
  assert.match((await folder.reprise('worker', '--once')).stderr, /run a of crew slow: completed/)
})

function scheduled() {
  const crew = `${claims}
await crew.schedule({ name: 'nightly', cron: '0 2 * * *', timezone: 'Europe/Berlin', inputs: { notes: 'x', tone: 'y' } })
await crew.schedule({ cron: '@daily', priority: 'high', inputs: (time) => ({ notes: time.toISOString(), tone: 'y' }) })
`
  return { crew, times: 2 }
}

test('a given-up run is marked in runs and show with the command, and enqueue and requeue continue it', async () => {
  await using folder = await project(claims)
  const words = 'was given up: its process ended five times in a row without a new step'
  for (const again of [
    ['requeue', 'killer'],
    ['enqueue', '--id', 'killer', ...inputs],
  ]) {
    await folder.reprise('enqueue', '--id', 'killer', ...inputs)
    const store = await sqliteStore(join(folder.path, '.reprise', 'runs.db'))
    await giveUp(store, 'killer')
    await store.close()
    const [listed] = records(await folder.reprise('runs', '--json'))
    assert.deepEqual([listed?.['status'], listed?.['why']], ['stopped', `it ${words}`])
    assert.equal(
      (await folder.reprise('runs')).stderr,
      `run killer: it ${words}; continue with: npx reprise resume killer\n`,
    )
    const shown = await folder.reprise('show', 'killer')
    assert.ok(`${shown.stdout}${shown.stderr}`.includes(words), shown.stdout)
    assert.match(`${shown.stdout}${shown.stderr}`, /npx reprise resume killer/)
    const tailed = await folder.reprise('tail', 'killer')
    assert.ok(tailed.stdout.endsWith(`  suspended: it ${words}\n`), tailed.stdout)
    assert.equal(tailed.stderr, `run killer stopped: it ${words}; continue with: npx reprise resume killer\n`)
    const [checked] = records(await folder.reprise('check', '--json'))
    assert.deepEqual([checked?.['outcome'], checked?.['reasons']], ['continues', [`it ${words}`]])
    assert.equal((await folder.reprise(...again)).code, 0)
    const [queued] = records(await folder.reprise('runs', '--json'))
    assert.equal(queued?.['status'], 'queued')
    assert.match((await folder.reprise('worker', '--once')).stderr, /run killer of crew claims: completed/)
    assert.equal((await folder.reprise('delete', 'killer', '--yes')).code, 0)
  }
})

test('requeue continues a stopped run in a worker, says how to start one, and refuses a run that needs no worker', async () => {
  await using folder = await project(claims)
  await folder.reprise('run', '--id', 'left', '--through', 'facts', ...inputs)
  assert.doesNotMatch((await folder.reprise('worker', '--once')).stderr, /left/)
  const asked = await folder.reprise('requeue', 'left', '--by', 'Ada', '--json')
  assert.deepEqual(records(asked), [{ runId: 'left', requeued: true, by: 'Ada' }])
  const words = 'run left waits for a worker; if none is running, '
  assert.deepEqual([asked.code, asked.stderr], [0, `${words}start one with: npx reprise worker\n`])
  const twice = await folder.reprise('requeue', 'left')
  assert.equal(twice.code, 4)
  assert.match(twice.stderr, /^error: run left is queued and needs no requeue: workers execute it without one; look at/)
  assert.match((await folder.reprise('worker', '--once')).stderr, /run left of crew claims: completed/)
  const over = await folder.reprise('requeue', 'left')
  assert.equal(over.code, 1)
  assert.match(over.stderr, /^error: run left is completed/)
  assert.equal((await folder.reprise('requeue', 'none-such')).code, 5)
})

test("requeue names a crew file that isn't the usual one", async () => {
  await using folder = await project(claims)
  await folder.write('other.ts', claims)
  await folder.reprise('run', 'other.ts', '--id', 'left', '--through', 'facts', ...inputs)
  assert.match((await folder.reprise('requeue', 'left')).stderr, /start one with: npx reprise worker other\.ts\n$/)
})

test('a worker of several files prints why it parks a run, and the command that continues it', async () => {
  await using folder = await project(claims)
  const flat = (task: string): string =>
    `${imports}\nexport const flat = new Crew({ name: 'flat', tasks: [new Task({ name: '${task}', run: () => 'booked' }), new Task({ name: 'note', run: () => 'noted' })] })\n`
  await folder.write('before.ts', flat('book'))
  await folder.write('after.ts', flat('post'))
  await folder.reprise('run', 'before.ts', '--id', 'r', '--through', 'book')
  await folder.reprise('requeue', 'r')
  const worked = await folder.reprise('worker', 'crew.ts', 'after.ts', '--once')
  const [, command = ''] = /no task for: book .*; continue with: npx reprise (.*)\n/.exec(worked.stderr) ?? []
  assert.equal(command, 'resume r --renamed book=post --file after.ts')
  assert.match(
    worked.stderr,
    /run r of crew flat: suspended after .*: it has recorded work that its crew has no task for/,
  )
  assert.equal((await folder.reprise(...command.split(' '))).code, 0)
})
