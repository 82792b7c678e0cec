// Conversations, and other runs of flows that continue one another, on the command line.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { imports, project, records } from './support.ts'

const talking = `${imports}
import { chat } from ${JSON.stringify(new URL('../../src/index.ts', import.meta.url).href)}
const model = scriptedModel([{ when: /broken/, error: 'the model is down' }, { when: /./, reply: (all) => 'Heard ' + all.length }])
const agent = new Agent({ role: 'Helper', goal: 'Help', model })
export const support = chat(agent, { name: 'support', turnsPerRun: 2 })
`

const counting = `${imports}
export const counts = new Flow({
  name: 'counts',
  inputs: z.object({ n: z.number() }),
  async run(flow) {
    const n = await flow.step('add', { effect: 'read', input: flow.inputs.n }, (value) => value + 1)
    return n === 3 ? n : flow.again({ n })
  },
})
`

describe('on the command line, a run of a flow that continues again', () => {
  test('is shown with the runs before and after it, and the next one is advised', async () => {
    await using folder = await project(counting)
    const run = await folder.reprise('run', '--id', 'c', '--input', 'n:=0')
    assert.equal(run.code, 0, run.stderr)
    const first = await folder.reprise('show', 'c')
    assert.match(first.stdout, /^next +continues as c~2$/m)
    assert.match(first.stderr, /npx reprise show 'c~2'/)
    const second = await folder.reprise('show', 'c~2')
    assert.match(second.stdout, /^previous continues c$/m)
    assert.match(second.stdout, /^next +continues as c~3$/m)
    const [{ previous, next } = {}] = records(await folder.reprise('show', 'c~2', '--json'))
    assert.deepEqual([previous, next], ['c', 'c~3'])
    const lineage = await folder.reprise('show', 'c~2', '--lineage')
    assert.match(lineage.stdout, /^continues c\ncontinues as c~3$/m)
  })
  test('is exported, imported and copied with the runs before and after it', async () => {
    await using folder = await project(counting)
    await folder.reprise('run', '--id', 'c', '--input', 'n:=0')
    const exported = await folder.reprise('export', 'c~2', 'c.jsonl')
    assert.match(exported.stderr, /^exported run c with c~2, c~3, which continue it; import it with/)
    const imported = await folder.reprise('import', 'c.jsonl', '--store', 'sqlite:other.db')
    assert.match(
      imported.stderr,
      /^run c of crew counts with c~2, c~3, which continue it, imported: completed, 1\d entries/,
    )
    const copied = await folder.reprise('copy', 'sqlite:.reprise/runs.db', 'sqlite:third.db')
    assert.match(copied.stderr, /copied 1 run \(with 2 of its child or earlier runs\) to sqlite/)
    const shown = await folder.reprise('show', 'c~3', '--store', 'sqlite:third.db')
    assert.match(shown.stdout, /^previous continues c~2$/m)
  })
})

describe('on the command line, a conversation', () => {
  /** Three turns in two runs, c and c~2. */
  async function talked() {
    const folder = await project(talking)
    const asked = []
    await folder.reprise('enqueue', '--id', 'c')
    for (const text of ['Hello', '42', 'it is broken']) {
      asked.push(await folder.reprise('send', 'c', 'message', text, '--by', 'ada'))
      await folder.reprise('resume', 'c')
    }
    return { folder, asked, [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose]() }
  }

  test('takes a text as a message, and is shown by its last turns, whichever of its runs is named', async () => {
    await using talk = await talked()
    for (const { code, stderr } of talk.asked) assert.equal(code, 0, stderr)
    for (const run of ['c', 'c~2']) {
      const shown = await talk.folder.reprise('show', run)
      assert.match(
        shown.stdout,
        /^conversation  c\n  1  ada  \d\d:\d\d:\d\d\n  │ Hello\n  1  assistant  .*\n  │ Heard \d+\n/m,
      )
      assert.match(shown.stdout, /│ 42\n/)
      assert.match(shown.stdout, /│ it is broken\n  failed: .*the model is down/)
      assert.doesNotMatch(shown.stdout, /^message|stop\[1\]  /m)
      assert.match(shown.stderr, /send c message Hello/)
      const [{ conversation } = {}] = records(await talk.folder.reprise('show', run, '--json'))
      const { turns, newest } = conversation as { newest: string; turns: { run: string; status: string }[] }
      assert.equal(newest, 'c~2')
      assert.deepEqual(
        turns.map(({ run: of, status }) => [of, status]),
        [
          ['c', 'answered'],
          ['c', 'answered'],
          ['c~2', 'failed'],
        ],
      )
    }
  })

  test('refuses what it would never take, by name', async () => {
    await using talk = await talked()
    for (const args of [['message'], ['mesage', 'Hello'], ['stop', 'now']]) {
      const refused = await talk.folder.reprise('send', 'c', ...args)
      assert.equal(refused.code, 2, refused.stderr)
      assert.match(refused.stderr, new RegExp(`conversation c takes no event "${args[0]}" with the value`))
    }
  })
})
