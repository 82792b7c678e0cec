// What replay, fork and refresh have in common: the plan is printed, a person at a terminal is asked, and the new run
// is executed.
import type { Crew } from '../../../crew/crew.ts'
import type { ForkOptions } from '../../../crew/options/verb-options.ts'
import type { Plan } from '../../../crew/result/plan.ts'
import type { EffectsPolicy, StalePolicy } from '../../../engine/plan/plan-fork.ts'
import type { Store } from '../../../stores/store.ts'
import { RepriseError } from '../../../base/errors.ts'
import { execute, withCrewStore } from './execute.ts'
import { exitCodes, type ExitCode } from '../../exit-codes.ts'
import { findRun } from '../../find/find-run.ts'
import { taskNameOf } from '../../find/find-task.ts'
import { decisionsOf } from '../../input/typed-decisions.ts'
import { inputsOf, type InputOptions } from '../../input/typed-inputs.ts'
import type { Invocation } from '../../invocation.ts'
import { loadCrewOfRun } from '../../find/crew-of-run.ts'
import { printPlan } from '../../show/print-plan.ts'
import { checkRuns } from '../../find/open-runs.ts'
import { confirm } from '../../terminal/confirm.ts'
import { plural } from '../../terminal/entries-word.ts'

export interface MakingOptions extends InputOptions {
  readonly run?: string
  readonly file?: string
  readonly crew?: string
  readonly through?: string
  readonly effects?: EffectsPolicy
  readonly only?: 'descendants'
  readonly stale?: StalePolicy
  readonly id?: string
  readonly renamed?: readonly string[]
  readonly removed?: readonly string[]
  readonly dryRun?: boolean
  readonly yes?: boolean
}

/** What only one of the commands takes; made when the run that it is about is known. */
export type Own = Pick<ForkOptions, 'from' | 'retry' | 'outputs' | 'by'> & { readonly used?: () => void }
export type OwnOf = (crew: Crew, store: Store, run: () => Promise<string>) => Promise<Own>

export async function make(
  invocation: Invocation<MakingOptions>,
  ownOf: OwnOf,
  verb: 'fork' | 'refresh' = 'fork',
): Promise<ExitCode> {
  const { options, terminal } = invocation
  const inputs = inputsOf(options)
  const { crew: found, name } = await loadCrewOfRun(options, options.run)

  const request = async (crew: Crew, store: Store): Promise<Asked> => {
    const runId = name === undefined ? undefined : (await findRun(store, name, crew.name)).run
    const own = await ownOf(crew, store, async () => runId ?? (await findRun(store, 'latest', crew.name)).run)
    const through = await taskNameOf(crew, options.through)
    const { effects, only, stale, id } = options
    const given = {
      runId,
      through,
      effects,
      only,
      stale,
      id,
      inputs: inputs as ForkOptions['inputs'],
      ...decisionsOf(options),
      ...own,
    }
    return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined))
  }

  if (options.dryRun)
    return withCrewStore(invocation, found, async ({ crew, store }) => {
      const { used, ...asked } = await request(crew, store)
      const plan = await planOf(crew, store, asked)
      if (terminal.json) terminal.record(plan)
      else printPlan(terminal.out, plan)
      if (verb === 'refresh' && plan.execute.length === 0) terminal.err.line('nothing is stale')
      used?.()
      return exitCodes.done
    })

  await checkRuns(options.store ?? found.store)
  return execute(invocation, found, async ({ crew, store, signal, asking }) => {
    const { used, ...asked } = await request(crew, store)
    let planned = false
    const onPlan = async (plan: Plan): Promise<boolean> => {
      planned = true
      printPlan(terminal.err, plan)
      const question = `Execute ${plural(plan.execute.length, 'task')}?`
      const goOn =
        plan.execute.length === 0 || (await confirm(question, { yes: options.yes ?? false, err: terminal.err }))
      if (goOn) used?.()
      return goOn
    }
    const run = await crew[verb]({ ...asked, ...asking, onPlan, signal }).started.catch(unlessRefused)
    if (run && !planned) terminal.err.line(`nothing in run ${run.id} is stale, so no run is made`)
    return run
  })
}

type Asked = ForkOptions & { used?: () => void }

/** The dry run of what would be done. A run whose id is taken is gone on with: then that is what is planned. */
async function planOf(crew: Crew, store: Store, asked: ForkOptions): Promise<Plan> {
  const { id, by: _, ...planned } = asked
  if (id === undefined || !(await store.row(id))) return crew.plan({ of: 'fork', ...planned })
  return crew.run(id).plan({ of: 'resume', ...(asked.through === undefined ? {} : { through: asked.through }) })
}

function unlessRefused(error: unknown): undefined {
  if (RepriseError.isInstance(error) && error.code === 'PLAN_REFUSED') return undefined
  throw error
}
