// People and other programs that act on a run, executed or not: they answer, send events, edit, invalidate and cancel.
// They are careful: they consult the ledger before they allow a call to be repeated.
import { RepriseError, type Answer, type OpenQuestion } from 'reprise'
import type { AskedQuestion } from '../../../src/journal/state/open-questions.ts'
import { answerTo, eventValue } from './interpret.ts'
import { buildFlow, type ProgramFlow } from './build-flow.ts'
import { eventNames } from './program.ts'
import { nameIn, root, type Scene } from './scene.ts'

export interface Deed {
  readonly what: 'answer' | 'send' | 'edit' | 'invalidate' | 'cancel'
  /** When, in ms after the start of a life. */
  readonly at: number
  /** Selects one of several steps, questions or events. */
  readonly choice: number
}

export interface Person {
  perform(deed: Deed): Promise<void>
  /** Answers every question with a good answer. */
  answerAll(): Promise<void>
  /** Sends every event for which a step waits. */
  sendAll(): Promise<void>
}

export function person(scene: Scene): Person {
  const process = scene.start()
  const flow = buildFlow({ scene, process, concurrency: 1, version: '1' })
  const handle = flow.run(root)

  /** Performs an action. Refusals are fine: the run may have ended, or the step or question may not exist. */
  const act = async (work: () => Promise<unknown>): Promise<void> => {
    try {
      await work()
    } catch (error) {
      const refused = RepriseError.isInstance(error) && refusals.has(error.code)
      if (!refused) scene.problems.add(`a person got: ${String(error)}`)
    }
  }
  const answer = (question: OpenQuestion, choice: number): Promise<void> =>
    act(() => handle.answer(question.id, answerOf(scene, question, choice)))
  const send = async (event: (typeof eventNames)[number], twice = false): Promise<void> => {
    const count = scene.sent.get(event) ?? 0
    scene.sent.set(event, count + 1)
    const value = eventValue(event, count)
    await act(() => handle.send(event, value, { id: value }))
    if (twice) await act(() => handle.send(event, value, { id: value }))
  }
  const questions = (): Promise<readonly OpenQuestion[]> =>
    handle.view().then(
      (view) => view.questions,
      () => [],
    )
  return {
    async perform({ what, choice }) {
      const steps = [...scene.journal(root).steps.keys()]
      const path = steps[choice % Math.max(1, steps.length)]
      switch (what) {
        case 'answer': {
          const open = await questions()
          const question = open[choice % Math.max(1, open.length)]
          return question && answer(question, choice)
        }
        case 'send':
          return send(eventNames[choice % eventNames.length] ?? 'e0', choice % 3 === 0)
        case 'edit':
          return path === undefined ? undefined : act(() => edit(flow, path, `ok ${choice}`))
        case 'invalidate':
          return path === undefined ? undefined : act(() => handle.invalidate(path))
        case 'cancel':
          // rarely, since a cancelled run is over
          return choice < 8 ? act(() => handle.cancel()) : undefined
      }
    },
    async answerAll() {
      for (const question of await questions()) await answer(question, 0)
    },
    async sendAll() {
      const { steps, events } = scene.journal(root)
      const waits = [...steps.values()].filter(({ wait, result }) => wait === 'event' && !result)
      for (const name of eventNames) {
        const left = [...events.values()].filter((event) => event.name === name && event.taken === 0).length
        const needed = waits.filter(({ path }) => nameIn(path) === name).length
        // three more, so that the next waits find theirs at once
        const missing = needed === 0 ? 0 : needed + 3 - left
        for (let count = 0; count < missing; count++) await send(name)
      }
    },
  }
}

const refusals: ReadonlySet<string> = new Set([
  'RUN_ENDED',
  'RUN_NOT_FOUND',
  'QUESTION_ANSWERED',
  'QUESTION_NOT_FOUND',
  'TASK_NOT_FOUND',
  'RUN_CANCELLED',
])

function edit(flow: ProgramFlow, path: string, value: string): Promise<void> {
  return flow.run(root).edit(path, value)
}

/** Choice 0 is always a good answer. */
export function answerOf({ ledger }: Scene, question: AskedQuestion, choice: number): Answer {
  switch (question.kind) {
    case 'value': {
      const path = question.path.replace(/^.*\//, '').replace(/#\d+$/, '')
      if (choice % 12 === 11) return { decision: 'fail', reason: 'no' }
      return { decision: 'answer', value: choice % 4 === 3 ? 'bad' : answerTo(path) }
    }
    case 'call':
    case 'doubt': {
      const place = placeOfCall(question.path)
      const calls = ledger.calls(place)
      const last = calls.at(-1)?.effect
      if (question.kind === 'doubt') return last ? { decision: 'happened', result: last.result } : { decision: 'run' }
      const made = calls.findLast(({ effect }) => effect)?.effect
      if (made && choice % 2 === 0) return { decision: 'use', result: made.result }
      ledger.approve(place)
      return { decision: 'approve' }
    }
    default:
      return { decision: 'fail', reason: `not expected: ${question.kind}` }
  }
}

/** The run and step of a question about a call. `f3#1/c4#1/stamp#1/1.0` is step stamp of run r/f3#1/c4#1. */
function placeOfCall(path: string): string {
  const parts = path.split('/').slice(0, -1)
  const step = parts.pop()?.replace(/#\d+$/, '') ?? ''
  return `${[root, ...parts].join('/')} ${step}`
}
