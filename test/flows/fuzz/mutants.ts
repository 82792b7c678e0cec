// Defects that the histories must detect. Each replaces the text `before` in a source file by `after`.
export interface Mutant {
  readonly file: string
  readonly before: string
  readonly after: string
}

const pump = 'src/engine/flow/execute-flow.ts'
const admission = 'src/engine/flow/admit-step.ts'
const pass = 'src/engine/flow/pass.ts'

/** Defects of the order in which a flow receives its results. */
export const orderMutants: { readonly [defect: string]: Mutant } = {
  'all results are delivered in one turn': {
    file: pump,
    before: '        await deliver(life, pass, next, pending)\n',
    after:
      '        for (let more: typeof next | undefined = next; more; more = pass.next(running)) await deliver(life, pass, more, pending)\n',
  },
  'results are delivered in the order of the requests': {
    file: pass,
    before: 'state.tasks.get(name)?.settled?.place ?? Infinity',
    after: 'state.tasks.get(name)?.settled ? [...calls.keys()].indexOf(name) : Infinity',
  },
  'only a microtask lies between two results': {
    file: pump,
    before: 'await world.turn()',
    after: 'await Promise.resolve()',
  },
}

export const otherMutants: { readonly [defect: string]: Mutant } = {
  'a result is delivered while an earlier one is being recorded': {
    file: pass,
    before: ' || running.keys().some(isEarlier)',
    after: '',
  },
  'a result is delivered while an earlier step is executed again': {
    file: pass,
    before: 'held.values().some(isEarlier) || ',
    after: '',
  },
  'a result is delivered before it is on disk': {
    file: admission,
    before: '  await life.ready()\n  const step = state.tasks.get(call.name) as TaskState\n',
    after: '  const step = state.tasks.get(call.name) as TaskState\n',
  },
  'an edited step loses its place': {
    file: 'src/journal/state/steps.ts',
    before: 'place: before?.place ?? seq',
    after: 'place: seq',
  },
  'a failed step that nothing followed keeps its place': {
    file: 'src/journal/state/steps.ts',
    before: 'if (task.settled && task.settled.place > state.lastAfter) delete task.settled',
    after: '',
  },
  'an event is given to two steps': {
    file: 'src/engine/flow/wait.ts',
    before: 'await life.queue.events(() => takeEvent(life, call, work, path))',
    after: 'await takeEvent(life, call, work, path)',
  },
  'a stale once step without an input gives its recorded result': {
    file: 'src/engine/task/execute-function.ts',
    before: 'restarts ? [fingerprint, restarts] : fingerprint',
    after: 'fingerprint',
  },
  'a changed input makes nothing stale': {
    file: pass,
    before: 'explainChange(fields(before.fingerprint), fields(today))',
    after: 'explainChange(fields(today), fields(today))',
  },
  'a changed result makes no step without an input stale': {
    file: pass,
    before: 'if (changedAt > place) changed.push(step)',
    after: '',
  },
}
