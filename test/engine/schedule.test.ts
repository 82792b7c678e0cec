// The choice of the next task, compared with the plain rule: the first task whose dependencies are all done.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { Agent, Crew, Task } from 'reprise'
import type { CrewDefinition, TaskDefinition } from '../../src/engine/definition.ts'
import { taskScheduler, waitsFor } from '../../src/engine/run/task-scheduler.ts'
import { journalVersion, type NewEntry, type Question } from '../../src/journal/entries.ts'
import { applyEntry, emptyState } from '../../src/journal/state/fold.ts'
import type { RunState } from '../../src/journal/state/state.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { newStore } from './support.ts'

interface Shape {
  readonly process: 'sequential' | 'parallel'
  readonly tasks: readonly { readonly async: boolean; readonly context: readonly number[] | undefined }[]
  readonly end: number
}

const shape: fc.Arbitrary<Shape> = fc.record({
  process: fc.constantFrom('sequential', 'parallel'),
  tasks: fc.array(
    fc.record({ async: fc.boolean(), context: fc.option(fc.array(fc.nat({ max: 7 })), { nil: undefined }) }),
    { minLength: 1, maxLength: 8 },
  ),
  end: fc.integer({ min: 1, max: 8 }),
})

function crewOf({ process, tasks }: Shape): CrewDefinition {
  const made: Task[] = []
  for (const [index, { async, context }] of tasks.entries()) {
    const given = context?.flatMap((at) => made[at % Math.max(index, 1)] ?? [])
    const last = index === tasks.length - 1
    const common = { name: `t${index}`, effect: 'read', run: () => 'x', ...(given ? { context: given } : {}) } as const
    made.push(new Task({ ...common, async: async && process === 'sequential' && !last }))
  }
  return new Crew({ name: 'c', tasks: made, process })['~definition']({})
}

/** The state of a run, to which entries are added. */
function runOf(crew: CrewDefinition): { state: RunState; add: (entry: NewEntry) => void } {
  const state = emptyState('r')
  const add = (entry: NewEntry): void => {
    const at = '2026-01-01T00:00:00.000Z'
    applyEntry(state, { v: journalVersion, seq: state.seq + 1, at, token: 1, prev: '', ...entry })
  }
  const tasks = crew.tasks.map(({ name, id, description }) => ({ name, id, description }))
  const owner = { host: 'h', boot: 'b', pid: 1, start: 's', instance: 'i' }
  add({ type: 'run.created', run: 'r', incarnation: 'i', crew: 'c', version: '1', inputs: {}, tasks, owner })
  return { state, add }
}

const often = ['begin', 'begin', 'complete', 'complete', 'look'] as const
const rare = ['suspend', 'answer', 'skip', 'edit', 'invalidate'] as const

test('the next task is always the first one whose dependencies are all done (property)', () => {
  const act = fc.tuple(fc.constantFrom(...often, ...often, ...rare), fc.nat({ max: 7 }))
  fc.assert(
    fc.property(shape, fc.array(act, { maxLength: 40, size: 'max' }), (given, happens) => {
      const crew = crewOf(given)
      const { state, add } = runOf(crew)
      const running = new Set<string>()
      const waiting = new Map<string, number>()
      let answers = 0
      const end = Math.min(given.end, crew.tasks.length)
      const schedule = taskScheduler(state, crew, end, running)
      const isDone = (name: string): boolean =>
        ['completed', 'skipped'].includes(state.tasks.get(name)?.status ?? 'pending')
      const byTheRule = (): TaskDefinition | undefined =>
        crew.tasks
          .slice(0, end)
          .find(
            (task) =>
              !isDone(task.name) &&
              !running.has(task.name) &&
              (waiting.get(task.name) ?? -1) < answers &&
              waitsFor(crew, task).every(({ name }) => isDone(name)),
          )
      for (const [what, which] of happens) {
        const task = crew.tasks[which % crew.tasks.length] as TaskDefinition
        const busy = [...running][which % Math.max(running.size, 1)]
        const edits = running.size === 0 ? task.name : undefined
        if (what === 'begin') {
          const next = byTheRule()
          assert.equal(schedule.next(), next)
          if (!next) continue
          schedule.begin(next)
          running.add(next.name)
          waiting.delete(next.name)
        } else if (what === 'complete' && busy !== undefined) {
          running.delete(busy)
          const path = `${busy}#1`
          add({ type: 'task.started', path, fingerprint: {}, code: true })
          add({ type: 'task.completed', path, structured: false, raw: 'x' })
        } else if (what === 'suspend' && busy !== undefined) {
          running.delete(busy)
          schedule.wait(crew.tasks.find(({ name }) => name === busy) as TaskDefinition)
          waiting.set(busy, answers)
        } else if (what === 'answer') {
          answers += 1
          const question = { id: `q${answers}`, path: 'elsewhere', text: '', kind: 'result', output: '', round: 1 }
          add({ type: 'question.asked', path: 'elsewhere', question: question as Question })
          add({ type: 'question.answered', question: question.id, answer: { decision: 'approve' } })
        } else if (what === 'skip') {
          const next = byTheRule()
          if (next && !waiting.has(next.name)) add({ type: 'task.skipped', path: next.name, reason: 'r' })
        } else if (what === 'edit' && edits !== undefined) {
          add({ type: 'task.edited', path: edits, raw: 'x', structured: false })
        } else if (what === 'invalidate' && edits !== undefined) {
          add({ type: 'task.invalidated', path: edits })
        }
        for (const name of waiting.keys()) if (isDone(name)) waiting.delete(name)
        if (what === 'look') assert.deepEqual(schedule.waiting(), [...waiting.keys()])
      }
      assert.equal(schedule.next(), byTheRule())
      assert.deepEqual(schedule.waiting(), [...waiting.keys()])
    }),
    { numRuns: 500 },
  )
})

test('a run whose task waits for an answer completes when a person gives its output instead', async () => {
  const asked = Promise.withResolvers<void>()
  const agent = new Agent({ role: 'A', goal: 'G', model: scriptedModel([{ when: 'Draft', reply: 'mine' }]) })
  const draft = new Task({ name: 'draft', description: 'Draft', agent, humanInput: true, async: true })
  const other = new Task({
    name: 'other',
    effect: 'read',
    context: [],
    async run() {
      await asked.promise
      await crew.run('r').edit('draft', 'theirs')
      return 'done'
    },
  })
  const last = new Task({ name: 'last', effect: 'read', context: [draft], run: ({ outputs }) => outputs.draft })
  const crew: Crew = new Crew({ name: 'c', tasks: [draft, other, last], store: newStore() })
  const result = await crew.kickoff({ id: 'r', onQuestion: () => asked.resolve() as undefined })
  assert.deepEqual([result.status, result.raw], ['completed', 'theirs'])
})
