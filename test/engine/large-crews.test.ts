// The work of the engine per step does not grow with the number of tasks. It is counted, not timed.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Crew, Task } from 'reprise'
import type { CrewDefinition } from '../../src/engine/definition.ts'
import { executeRun } from '../../src/engine/run/execute-run.ts'
import { createRun } from '../../src/engine/run/create-run.ts'
import { continueRun, openRun } from '../../src/engine/run/resume-run.ts'
import { openEngine, realWorld } from '../../src/engine/world.ts'
import type { Hold } from '../../src/engine/lease/hold.ts'
import { newStore } from './support.ts'

type Context = 'none' | 'the one before'

/** Functions. With a callback for each, since that is looked for after every step too. */
function tasksOf(count: number, context: Context, wrap = (task: Task): Task => task): Task[] {
  const made: Task[] = []
  for (let index = 0; index < count; index++) {
    const given = context === 'none' ? [] : made.slice(-1)
    const task = { name: `t${index}`, effect: 'read', context: given, run: () => 'x', callback: () => {} } as const
    made.push(wrap(new Task(task)))
  }
  return made
}

/** A map that counts how many of its members are looked at. */
class CountingMap<K, V> extends Map<K, V> {
  looks = 0

  override get(key: K): V | undefined {
    this.looks += 1
    return super.get(key)
  }

  override *entries(): MapIterator<[K, V]> {
    for (const entry of super.entries()) {
      this.looks += 1
      yield entry
    }
  }

  override *values(): MapIterator<V> {
    for (const [, value] of this.entries()) yield value
  }

  override [Symbol.iterator](): MapIterator<[K, V]> {
    return this.entries()
  }
}

/** How often tasks are looked at, in the crew and in the state, until the run ends or has done half of them. */
async function looks(count: number, process: CrewDefinition['process'], context: Context): Promise<number[]> {
  const crew = new Crew({ name: 'large', tasks: tasksOf(count, context), process })['~definition']({})
  let reads = 0
  const tasks = new Proxy(crew.tasks, {
    get(target, name, receiver) {
      if (typeof name === 'string' && /^\d+$/.test(name)) reads += 1
      return Reflect.get(target, name, receiver) as unknown
    },
  })
  const counted: CrewDefinition = { ...crew, tasks }
  const engine = openEngine(newStore(), realWorld())
  const executed = async (hold: Hold): Promise<number> => {
    const map = new CountingMap(hold.state.tasks)
    hold.state.tasks = map
    const from = reads + map.looks
    await executeRun(hold, counted, {})
    return reads + map.looks - from
  }
  const made = await createRun(engine, counted, { run: 'r', inputs: {}, through: `t${count / 2 - 1}` })
  const first = await executed(made as Hold)
  const { hold } = await continueRun(await openRun(engine, counted, 'r'), counted)
  const second = await executed(hold as Hold)
  return [first, second]
}

for (const process of ['sequential', 'parallel'] as const) {
  for (const context of ['none', 'the one before'] as const) {
    test(`a ${process} crew with four times the tasks looks at four times as many, given ${context}`, async () => {
      const few = await looks(50, process, context)
      const many = await looks(200, process, context)
      for (const [part, before] of few.entries())
        assert.ok((many[part] ?? Infinity) <= 4.2 * before, `${many[part]} looks for 200 tasks, ${before} for 50`)
    })
  }
}

test('the definition of a crew with four times the tasks looks at four times as many', () => {
  const reads = (count: number): number => {
    let found = 0
    const counting: ProxyHandler<Task> = {
      get(task, name) {
        if (name === 'id') found += 1
        return Reflect.get(task, name, task) as unknown
      },
    }
    const crew = new Crew({
      name: 'large',
      tasks: tasksOf(count, 'the one before', (task) => new Proxy(task, counting)),
    })
    assert.equal(crew.tasks.length, count)
    return found
  }
  const [few, many] = [reads(50), reads(200)]
  assert.ok(many <= 4.2 * few, `${many} looks for 200 tasks, ${few} for 50`)
})
