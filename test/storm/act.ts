// The steps of a history, and what a process does for each. A step that was interrupted is repeated, and then ends as
// if it had not been.
import { type Crew, type Question, type RunResult, RepriseError } from 'reprise'
import { readRun } from '../../src/read/read-run.ts'
import { memoryStore } from '../../src/stores/memory/store.ts'
import type { Store } from '../../src/stores/store.ts'
import { buildCrew } from './build-crew.ts'
import type { CrewPlan } from './crew-plan.ts'
import { doneWith, type Ledger } from './ledger.ts'
import { answerTo } from './person.ts'
import { rootOf } from './run-ids.ts'

type Inputs = { readonly [name: string]: string }
/** One of the two stores. */
export type At = 'here' | 'there'

export type Step = { readonly at: At } & (
  | {
      readonly act: 'kickoff'
      readonly id: string
      readonly inputs: Inputs
      readonly through?: string
      readonly reuse?: boolean
      readonly asks?: Asks
    }
  /** `was`: the id of the interrupted run from which it was imported. */
  | { readonly act: 'resume'; readonly id: string; readonly was?: string; readonly asks?: Asks }
  | {
      readonly act: 'fork'
      readonly id: string
      readonly run: string
      readonly from?: string
      readonly only?: 'descendants'
      readonly stale?: 'keep' | 'rerun'
      readonly effects?: 'again' | 'ask'
      readonly inputs?: Inputs
      readonly outputs?: { readonly [task: string]: unknown }
      readonly asks?: Asks
    }
  | {
      readonly act: 'refresh'
      readonly id: string
      readonly run: string
      readonly inputs?: Inputs
      readonly asks?: Asks
    }
  | { readonly act: 'edit'; readonly run: string; readonly task: string; readonly value: unknown }
  | { readonly act: 'invalidate'; readonly run: string; readonly task: string }
  | { readonly act: 'cancel'; readonly run: string }
  | { readonly act: 'backtest'; readonly id: string; readonly task: string; readonly runs: number }
  | { readonly act: 'export'; readonly run: string; readonly file: string }
  | { readonly act: 'import'; readonly file: string; readonly of: string; readonly as: string }
  | { readonly act: 'delete'; readonly run: string }
  | {
      readonly act: 'prune'
      readonly crew: string
      readonly status: ('failed' | 'completed' | 'cancelled')[]
      readonly keep: number
    }
)

/** When people answer: during the run, after its suspension, or only questions about calls in doubt. */
export type Asks = 'live' | 'later' | 'doubts'

export type Deed =
  | Step
  | { readonly act: 'answer'; readonly run: string; readonly was?: string | undefined; readonly doubtsOnly: boolean }
  /** A kickoff with the same code and inputs, in its own store. */
  | { readonly act: 'fresh'; readonly inputs: Inputs }

export interface Outcome {
  readonly status?: string
  readonly code?: string
  readonly message?: string
  readonly tasks?: readonly (readonly [name: string, raw: string, status: string])[]
  /** The kinds of the open questions. */
  readonly questions?: readonly string[]
  readonly plan?: readonly string[]
  /** The runs that a prune deleted, the result of a backtest. */
  readonly gave?: unknown
}

export async function act(deed: Deed, plan: CrewPlan, ledger: Ledger, store: Store): Promise<Outcome> {
  const own = deed.act === 'fresh' ? memoryStore() : store
  await using crew = buildCrew(deed.act === 'prune' ? planNamed(plan, deed.crew) : plan, ledger, own)
  try {
    return await perform(deed, crew, ledger, own)
  } catch (error) {
    if (!RepriseError.isInstance(error)) throw error
    return { code: error.code, message: error.message }
  }
}

async function perform(deed: Deed, crew: Crew, ledger: Ledger, store: Store): Promise<Outcome> {
  const live = (asks: Asks | undefined, id: string) =>
    asks === 'live' ? { onQuestion: async (question: Question) => answerHere(question, ledger, store, id) } : {}
  switch (deed.act) {
    case 'kickoff': {
      const { id, inputs, through, reuse, asks } = deed
      const options = { ...(through === undefined ? {} : { through }), ...(reuse ? { reuse } : {}) }
      return outcomeOf(await crew.kickoff({ id, inputs, ...options, ...live(asks, id) }))
    }
    case 'fresh':
      return outcomeOf(await crew.kickoff({ id: 'fresh', inputs: deed.inputs, ...live('live', 'fresh') }))
    case 'resume':
      return outcomeOf(await crew.resume(deed.id, live(deed.asks, deed.id)))
    case 'fork': {
      const { act: _, at: __, asks, run: runId, ...options } = deed
      return outcomeOf(await crew.fork({ runId, ...options, ...live(asks, deed.id) }))
    }
    case 'refresh': {
      const { act: _, at: __, asks, run: runId, ...options } = deed
      return outcomeOf(await crew.refresh({ runId, ...options, ...live(asks, deed.id) }))
    }
    case 'edit':
      await crew.run(deed.run).edit(deed.task, deed.value)
      return { status: 'done' }
    case 'invalidate':
      await crew.run(deed.run).invalidate(deed.task)
      return { status: 'done' }
    case 'cancel':
      await crew.run(deed.run).cancel()
      return { status: 'done' }
    case 'backtest': {
      const { cases } = await crew.backtest(deed.task, { id: deed.id, runs: deed.runs })
      return { status: 'done', gave: cases.map((one) => [one.runId, one.new?.raw ?? '', one.error?.code ?? '']) }
    }
    case 'export':
      await crew.run(deed.run).export(deed.file)
      return { status: 'done' }
    case 'import':
      await crew.import(deed.file, { as: deed.as })
      return { status: 'done' }
    case 'delete':
      await crew.run(deed.run).delete()
      return { status: 'done' }
    case 'prune':
      return {
        status: 'done',
        gave: (await crew.prune({ status: deed.status, keep: deed.keep })).runs.map(({ runId }) => runId),
      }
    case 'answer': {
      const { questions } = await crew.run(deed.run).view()
      for (const question of questions) {
        const answer = await answerHere(question, ledger, store, deed.run, deed)
        // another process may have been faster
        if (answer) await crew.run(deed.run).answer(question.id, answer).catch(unlessLate)
      }
      return { status: 'done' }
    }
  }
}

function unlessLate(error: unknown): void {
  if (!RepriseError.isInstance(error) || !/^(QUESTION_|RUN_ENDED)/.test(error.code)) throw error
}

function outcomeOf(result: RunResult): Outcome {
  return {
    status: result.status,
    tasks: result.tasks.map(({ name, raw, status }) => [name, raw, status] as const),
    questions: result.questions.map(({ kind }) => kind).toSorted(),
    ...(result.plan ? { plan: result.plan.map(({ task, action }) => `${task}: ${action}`) } : {}),
  }
}

interface Answering {
  readonly was?: string | undefined
  readonly doubtsOnly?: boolean
}

async function answerHere(
  question: Question,
  ledger: Ledger,
  store: Store,
  run: string,
  { was, doubtsOnly = false }: Answering = {},
) {
  const calls = question.kind === 'doubt' ? await openCalls(store, run) : []
  const doubted = calls.find(({ path }) => path === question.path)
  // a run that was forked from this one may have inherited the key
  const isSame = (other: string): boolean => other === doubted?.run || (was !== undefined && rootOf(other) === was)
  const happened = doneWith(doubted?.key, ledger.all()).find((one) => isSame(one.run))
  return answerTo(question, ledger, happened, doubtsOnly) as never
}

/** The calls without an outcome of a run and its child runs, by the paths that their questions have. */
async function openCalls(
  store: Store,
  run: string,
  within = '',
): Promise<{ path: string; run: string; key: string }[]> {
  const state = (await readRun(store, run).catch(() => undefined))?.state
  const calls: { path: string; run: string; key: string }[] = []
  for (const attempt of state?.attempts.values() ?? []) {
    if (attempt.child !== undefined) calls.push(...(await openCalls(store, attempt.child, `${within}${attempt.path}/`)))
    for (const call of attempt.turns.flatMap((turn) => turn.calls)) {
      if (call.idempotencyKey !== undefined && !call.outcome)
        calls.push({ path: `${within}${call.path}`, run, key: call.idempotencyKey })
    }
  }
  return calls
}

function planNamed(plan: CrewPlan, name: string): CrewPlan {
  const within = (of: CrewPlan): CrewPlan[] => [of, ...of.tasks.flatMap((task) => (task.crew ? within(task.crew) : []))]
  return within(plan).find((one) => one.name === name) ?? plan
}
