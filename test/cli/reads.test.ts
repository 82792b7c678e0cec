// How often a command reads a run: once, so that the plan that it shows is the plan that it executes. An unfinished
// child run is read once more when it is executed: before that, its tasks are compared with the code. With --json, the
// run is read once more when it rests, for the view that is printed.
import assert from 'node:assert/strict'
import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { imports, project } from './support.ts'

/** Two tasks, the second one a crew in which a person is asked. Its store writes down which runs are read. */
const counted = `${imports}
import { appendFileSync } from 'node:fs'
import { sqliteStore } from ${JSON.stringify(new URL('../../src/stores/index.ts', import.meta.url).href)}
const opened = await sqliteStore('runs.db')
const store = new Proxy(opened, {
  get(target, key) {
    const member = Reflect.get(target, key, target)
    if (key === 'read') return (run, after) => (after === undefined && appendFileSync('reads.txt', run + '\\n'), target.read(run, after))
    return typeof member === 'function' ? member.bind(target) : member
  },
})
const model = scriptedModel([{ when: 'Task: Find', reply: 'found' }, { when: 'Task: Ask', reply: 'asked' }, { when: 'Task: End', reply: 'ended' }])
const agent = new Agent({ role: 'Analyst', goal: 'Help', model })
const ask = new Task({ name: 'ask', description: 'Ask {topic}', agent, humanInput: true })
const find = new Task({ name: 'find', description: 'Find {topic}', agent })
const inner = new Crew({ name: 'inner', tasks: [ask] })
const settle = new Task({ name: 'settle', crew: inner })
const end = new Task({ name: 'end', description: 'End', agent })
export const crew = new Crew({ name: 'claims', tasks: [find, settle, end], store })
`

test('no command reads a run twice, but for an unfinished child run that it executes, and the view that it prints', async () => {
  await using folder = await project(counted)
  const reads = join(folder.path, 'reads.txt')
  const counts = async (code: number, args: readonly string[], twice: readonly string[] = []): Promise<void> => {
    await rm(reads, { force: true })
    const ended = await folder.reprise(...args)
    assert.equal(ended.code, code, ended.stderr)
    const runs = (await readFile(reads, 'utf8').catch(() => '')).split('\n').filter((run) => run !== '')
    assert.deepEqual(runs.toSorted(), [...new Set(runs), ...twice].toSorted(), args.join(' '))
  }
  const suspended = 3
  await counts(suspended, ['run', '--id', 'first', '--input', 'topic=water'])
  await counts(0, ['plan', '--of', 'resume', '--run', 'first'])
  await counts(suspended, ['resume', 'first'], ['first/settle#1'])
  await folder.reprise('answer', 'first', 'settle/q1', '--decision', 'approve', '--store', 'sqlite:runs.db')
  await counts(0, ['resume', 'first', '--json'], ['first', 'first/settle#1'])
  await counts(0, ['plan', '--run', 'first', '--from', 'settle'])
  await counts(0, ['replay', '-t', 'end', '--run', 'first', '--id', 'second', '--json'])
  await counts(0, ['replay', '-t', 'end', '--run', 'first', '--id', 'second'])
  await counts(suspended, ['fork', '--run', 'first', '--input', 'topic=fire', '--id', 'third'])
  await counts(0, ['fork', '--run', 'third', '--output', 'settle="settled"', '--id', 'fourth'])
  await counts(0, ['refresh', '--run', 'first', '--json'], ['first'])
})
