// The items of a task with `forEach` on the command line, where they are named as tasks are.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { imports, project, records } from './support.ts'

const book = `${imports}
const model = scriptedModel([
  { when: 'Task: Write', reply: (text) => /Write (\\w+)/.exec(text)?.[1] + '!' },
  { when: 'Task: Sum', reply: (text) => 'sum of ' + /\\[.*\\]/.exec(text)?.[0] },
])
const agent = new Agent({ role: 'Writer', goal: 'Write', model })
const chapter = new Task({ name: 'chapter', description: 'Write {item.title}', agent,
  forEach: () => [{ id: 'c1', title: 'Fire' }, { id: 'c2', title: 'Ice' }], key: ({ id }) => id })
const sum = new Task({ name: 'sum', description: 'Sum', agent, context: [chapter] })
export const crew = new Crew({ name: 'book', tasks: [chapter, sum] })
`

describe('an item of a task', { concurrency: 3 }, () => {
  test('is listed below its task, and shown by its name', async () => {
    await using folder = await project(book)
    const ran = await folder.reprise('run', '--id', 'first')
    assert.equal(ran.code, 0, ran.stderr)
    const { stdout } = await folder.reprise('show', 'first', '--tasks')
    assert.match(stdout, /chapter .*\n.*chapter\[c1\].*\n.*chapter\[c2\].*\n.*sum/)
    const one = await folder.reprise('show', 'first', '--task', 'chapter[c2]')
    assert.match(one.stdout, /^description\n│ Write Ice$/m)
    assert.match(one.stdout, /^output\n│ Ice!$/m)
  })

  test('is replayed by its name', async () => {
    await using folder = await project(book)
    await folder.reprise('run', '--id', 'first')
    const plan = await folder.reprise('replay', 'chapter[c2]', '--run', 'first', '--dry-run')
    assert.match(plan.stdout, /inherit +chapter\[c1\].*\n.*execute +chapter\[c2\]/)
    const replayed = await folder.reprise(
      'replay',
      'chapter[c2]',
      '--run',
      'first',
      '--id',
      'second',
      '--yes',
      '--json',
    )
    assert.equal(replayed.code, 0, replayed.stderr)
    const [shown] = records(await folder.reprise('show', 'second', '--task', 'chapter[c1]', '--json'))
    assert.equal(shown?.['status'], 'inherited')
    const unknown = await folder.reprise('replay', 'chapter[c9]', '--run', 'first', '--yes')
    assert.match(
      unknown.stderr,
      /run first has no item chapter\[c9\]; of task chapter, it has chapter\[c1\], chapter\[c2\]/,
    )
  })

  test('is edited with a text, and its task with a list', async () => {
    await using folder = await project(book)
    await folder.reprise('run', '--id', 'first', '--through', 'chapter')
    const item = await folder.reprise('edit', 'first', 'chapter[c2]', '--output', 'Snow')
    assert.equal(item.code, 0, item.stderr)
    const list = await folder.reprise(
      'fork',
      '--run',
      'first',
      '--id',
      'second',
      '--output',
      'chapter=["Mine"]',
      '--yes',
    )
    assert.equal(list.code, 0, list.stderr)
    assert.match(list.stdout, /sum of \["Mine"\]/)
    const resumed = await folder.reprise('resume', 'first')
    assert.match(resumed.stdout, /sum of \["Fire!","Snow"\]/)
  })
})
