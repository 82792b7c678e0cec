// Next steps as data, in errors and results. Each surface puts them into words: the library as a method call, the
// command line as a command that works as printed (src/cli/write-command.ts).

/** Every type of step, with its parameters. */
interface Steps {
  /** With the options that changed tasks require, if any. */
  resume: {
    readonly runId: string
    readonly changed?: 'restart' | 'continue'
    readonly renamed?: { readonly [task: string]: string }
    readonly removed?: readonly string[]
  }
  replay: { readonly runId: string; readonly task: string }
  /** A fork with other inputs. */
  fork: { readonly runId: string }
  refresh: { readonly runId: string }
  /** A fork that executes the failed tasks of a run again. */
  retry: { readonly runId: string }
  answer: { readonly runId: string; readonly question: string; readonly decisions: readonly string[] }
  invalidate: { readonly runId: string; readonly task: string }
  cancel: { readonly runId: string }
  delete: { readonly runId: string }
  /** Take back a run that was moved to another store. */
  requeue: { readonly runId: string }
  show: { readonly runId: string }
  runs: object
  kickoff: object
  /** Repeat the call with the missing inputs. */
  give: {
    readonly inputs: readonly string[]
    /** The JSON types of inputs that aren't strings, such as `array`. */
    readonly types?: { readonly [name: string]: string }
  }
  /** Repeat the call with the new names of tasks. */
  rename: { readonly renamed: { readonly [task: string]: string } }
  /** Repeat the import under a free id. */
  import: { readonly as: string }
  backtest: { readonly task: string; readonly id: string }
  /** Create the tables of a store, with a role that may do so. */
  migrate: object
}

export type NextAction = keyof Steps

/** A next step. Without a type argument: of any type. */
export type NextStep<A extends NextAction = NextAction> = { [K in A]: { readonly type: K } & Steps[K] }[A]

/** The purpose of a step, for `<purpose> with <method or command>`. */
export function purpose(next: NextStep): string {
  return next.type === 'resume' && next.changed === 'restart' ? 'start it again' : purposes[next.type]
}

export const purposes: { readonly [A in NextAction]: string } = {
  resume: 'continue',
  replay: 'make a new run from it',
  fork: 'use another id, or make a new run from it',
  refresh: 'execute what is stale or missing in a new run',
  retry: 'try what failed again in a new run',
  answer: 'answer',
  invalidate: 'have it done again',
  cancel: 'end it',
  delete: 'delete that run',
  requeue: 'if that copy was deleted, take it back',
  show: 'look at it',
  runs: 'list the runs',
  kickoff: 'start one',
  give: 'give it',
  rename: 'assign it to another task',
  import: 'import it under another id',
  backtest: 'continue',
  migrate: 'create its tables',
}

const calls: { readonly [A in NextAction]: (next: NextStep<A>) => string } = {
  resume: ({ runId, changed, renamed, removed }) => {
    const options = [
      ...(changed === undefined ? [] : [`changed: ${quoted(changed)}`]),
      ...(renamed === undefined ? [] : [`renamed: { ${pairs(renamed)} }`]),
      ...(removed === undefined ? [] : [`removed: [${removed.map(quoted).join(', ')}]`]),
    ]
    return `${run(runId)}.resume(${options.length === 0 ? '' : `{ ${options.join(', ')} }`})`
  },
  replay: ({ runId, task }) => `${run(runId)}.replay(${quoted(task)})`,
  fork: ({ runId }) => `${run(runId)}.fork({ inputs })`,
  refresh: ({ runId }) => `${run(runId)}.refresh()`,
  retry: ({ runId }) => `${run(runId)}.fork({ retry: 'failed' })`,
  answer: ({ runId, question, decisions }) =>
    `${run(runId)}.answer(${quoted(question)}, { decision: ${decisions.map(quoted).join(' | ')} })`,
  invalidate: ({ runId, task }) => `${run(runId)}.invalidate(${quoted(task)})`,
  cancel: ({ runId }) => `${run(runId)}.cancel()`,
  delete: ({ runId }) => `${run(runId)}.delete()`,
  requeue: ({ runId }) => `${run(runId)}.requeue()`,
  show: ({ runId }) => `${run(runId)}.view()`,
  runs: () => 'crew.runs()',
  kickoff: () => 'crew.kickoff()',
  give: ({ inputs }) => `inputs: { ${inputs.map((name) => `${key(name)}: …`).join(', ')} }`,
  rename: ({ renamed }) => `renamed: { ${pairs(renamed)} }`,
  import: ({ as }) => `{ as: ${quoted(as)} }`,
  backtest: ({ task, id }) => `crew.backtest(${quoted(task)}, { id: ${quoted(id)} })`,
  migrate: () => 'openStore(url), using a role that may create tables',
}

/** A step in words, with the method to call: `continue with crew.run('claim-1').resume()`. */
export function nextWords(next: NextStep): string {
  return `${purpose(next)} with ${methodCall(next)}`
}

function methodCall<A extends NextAction>(next: NextStep<A>): string {
  return calls[next.type](next)
}

function run(id: string): string {
  return `crew.run(${quoted(id)})`
}

function pairs(record: { readonly [name: string]: string }): string {
  return Object.entries(record)
    .map(([name, value]) => `${key(name)}: ${quoted(value)}`)
    .join(', ')
}

function quoted(text: string): string {
  return `'${text.replaceAll(/[\\']/g, String.raw`\$&`)}'`
}

function key(name: string): string {
  return /^[\p{L}_$][\p{L}\p{N}_$]*$/u.test(name) ? name : quoted(name)
}
