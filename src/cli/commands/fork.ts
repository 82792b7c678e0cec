// `reprise fork`, and its two presets: `reprise replay` executes a task and all tasks after it, `reprise refresh` only
// what is stale. Each prints the plan, asks the person at a terminal, and executes the new run.
import { Option, type Command as Program } from 'commander'
import { RepriseError } from '../../base/errors.ts'
import type { Crew } from '../../crew/crew.ts'
import type { ForkOptions } from '../../crew/verbs/fork.ts'
import { type Plan, planLines } from '../../crew/result/plan.ts'
import type { Store } from '../../stores/store.ts'
import type { Command, CrewOptions, Invocation } from '../command.ts'
import type { Commands } from '../write-command.ts'
import { execute, withCrewStore } from '../execute.ts'
import { exitCodes, UsageError, type ExitCode } from '../exit-codes.ts'
import { loadCrewOfRun, findRun } from '../find/find-run.ts'
import { findOptionalTask, findOutputTarget, findTaskName, namedTask } from '../find/find-task.ts'
import { checkRuns } from '../find/open-runs.ts'
import { confirm } from '../input/ask-line.ts'
import { editOutput, editedTextHint, type EditedText } from '../input/editor.ts'
import {
  readSigner,
  readTaskDecisions,
  collect,
  effectsOption,
  onlyOption,
  retryOption,
  runArgument,
  staleOption,
  taskArgument,
  withCrew,
  withDecisions,
  withInputs,
} from '../options.ts'
import { readInputs, type InputOptions, readOutputs, parseOutput } from '../input/inputs.ts'
import { plural } from '../../text/words.ts'
import { defined } from '../../base/options.ts'
import type { PlannedTask } from '../../journal/entries.ts'
import type { Channel, Format } from '../output/terminal.ts'
import { wrap } from '../../text/wrap.ts'

/** The options of fork, replay and refresh. */
export interface NewRunOptions extends InputOptions, CrewOptions {
  readonly run?: string
  readonly through?: string
  readonly effects?: ForkOptions['effects']
  readonly only?: 'descendants'
  readonly stale?: ForkOptions['stale']
  readonly id?: string
  readonly renamed?: readonly string[]
  readonly removed?: readonly string[]
  readonly dryRun?: boolean
  readonly yes?: boolean
}

interface ForkCommandOptions extends NewRunOptions {
  readonly from?: string
  readonly retry?: ForkOptions['retry']
  readonly output?: readonly string[]
  readonly edit?: readonly string[]
  readonly by?: string
}

interface ReplayCommandOptions extends NewRunOptions {
  readonly task?: string
  /** CrewAI's name for `task`. */
  readonly taskId?: string
}

export const forkCommand: Command<ForkCommandOptions> = {
  declare: (command) =>
    withNewRun(command)
      .option('-t, --from <task>', 'execute this task and all tasks after it as well')
      .addOption(retryOption())
      .option('--output <pair>', "your value in place of a task's output: task=text, task=@file or task:=json", collect)
      .option('--edit <task>', "edit the task's output in $EDITOR (repeatable)", collect)
      .option('--by <name>', 'who provides these outputs (default: your login name)')
      .addOption(onlyOption())
      .addOption(staleOption('keep with --from or --retry, else rerun')),
  examples: [`reprise fork --output facts='{"policy":"P-77","issue":"fire"}'`],
  action: fork,
}

export const replayCommand: Command<ReplayCommandOptions> = {
  declare: (command) =>
    withNewRun(command)
      .argument('[task]', `${taskArgument} to start from`)
      .option('-t, --task <task>', 'same as the argument')
      .addOption(new Option('--task-id <task>', 'same as the argument, as in CrewAI').conflicts('task'))
      .addOption(onlyOption())
      .addOption(staleOption('keep')),
  examples: ['reprise replay note --input tone=kind'],
  async action(invocation) {
    const task = namedTask(invocation)
    return executeNewRun(invocation, async (crew) => ({ from: await findTaskName(crew, task) }))
  },
}

export const refreshCommand: Command<NewRunOptions> = {
  declare: withNewRun,
  examples: ['reprise refresh --dry-run'],
  action: (invocation) => executeNewRun(invocation, async () => ({}), 'refresh'),
}

function withNewRun(command: Program): Program {
  return withDecisions(withInputs(withCrew(command)))
    .option('--run <run>', `${runArgument} (default: the latest run of the crew)`)
    .option('--through <task>', 'stop after this task')
    .addOption(effectsOption())
    .option('--id <id>', 'your own id for the new run; if it exists, it continues')
    .option('--dry-run', 'print the plan and stop')
    .option('--yes', 'do not ask before anything is spent')
}

async function fork(invocation: Invocation<ForkCommandOptions>): Promise<number> {
  const { options, terminal } = invocation
  const edits = new Map<string, EditedText>()
  try {
    return await executeNewRun(invocation, async (crew, store, sourceRun) => {
      const from = await findOptionalTask(crew, options.from)
      const find = (reference: string) => findOutputTarget(crew, store, sourceRun, reference)
      const outputs = await readOutputs(find, options.output)
      for (const reference of options.edit ?? []) {
        const task = await find(reference)
        if (outputs.has(task.name))
          throw new UsageError(`task ${task.name} is given by --output and by --edit; give one of them`)
        const edited = await editOutput(store, await sourceRun(), task)
        edits.set(task.name, edited)
        outputs.set(task.name, parseOutput(task, edited.text, `what you wrote for ${task.name}`))
      }
      return {
        ...defined({ from, retry: options.retry }),
        ...(outputs.size === 0 ? {} : { outputs: Object.fromEntries(outputs), ...readSigner(options.by) }),
        onAccepted() {
          for (const { discard } of edits.values()) discard()
          edits.clear()
        },
      }
    })
  } finally {
    for (const [task, edited] of edits) terminal.err.line(editedTextHint(edited, task))
  }
}

/** Options of only some of the three commands. `onAccepted` is called when the plan is accepted, or only printed. */
type OwnOptions = Pick<ForkOptions, 'from' | 'retry' | 'outputs' | 'by'> & { readonly onAccepted?: () => void }

async function executeNewRun(
  invocation: Invocation<NewRunOptions>,
  readOwnOptions: (crew: Crew, store: Store, sourceRun: () => Promise<string>) => Promise<OwnOptions>,
  verb: 'fork' | 'refresh' = 'fork',
): Promise<ExitCode> {
  const { options, terminal, commands } = invocation
  const inputs = readInputs(options)
  const { crew: loaded, name } = await loadCrewOfRun(options, options.run)

  const readRequest = async (crew: Crew, store: Store): Promise<ForkOptions & OwnOptions> => {
    const runId = name === undefined ? undefined : (await findRun(store, name, crew.name)).run
    const own = await readOwnOptions(crew, store, async () => runId ?? (await findRun(store, 'latest', crew.name)).run)
    const through = await findOptionalTask(crew, options.through)
    const { effects, only, stale, id } = options
    return {
      ...defined({ runId, through, effects, only, stale, id, inputs: inputs as ForkOptions['inputs'] }),
      ...readTaskDecisions(options),
      ...own,
    }
  }

  if (options.dryRun)
    return withCrewStore(invocation, loaded, async ({ crew, store }) => {
      const { onAccepted, ...request } = await readRequest(crew, store)
      const plan = await planNewRun(crew, store, request)
      if (terminal.json) terminal.record(plan)
      else printPlan(terminal.out, plan, commands)
      if (verb === 'refresh' && plan.execute.length === 0) terminal.err.line('nothing is stale')
      onAccepted?.()
      return exitCodes.done
    })

  await checkRuns(options.store ?? loaded.store)
  return execute(invocation, loaded, async ({ crew, store, signal, asking }) => {
    const { onAccepted, ...request } = await readRequest(crew, store)
    let planned = false
    const onPlan = async (plan: Plan): Promise<boolean> => {
      planned = true
      printPlan(terminal.err, plan, commands)
      const question = `Execute ${plural(plan.execute.length, 'task')}?`
      const accepted =
        plan.execute.length === 0 || (await confirm(question, { yes: options.yes ?? false, err: terminal.err }))
      if (accepted) onAccepted?.()
      return accepted
    }
    const run = await crew[verb]({ ...request, ...asking, onPlan, signal }).started.catch(ignoreRefusal)
    if (run && !planned) terminal.err.line(`nothing in run ${run.id} is stale, so no run is created`)
    return run
  })
}

/** Plans the fork. If a run with its id exists, that run would be resumed: then plans the resume. */
async function planNewRun(crew: Crew, store: Store, request: ForkOptions): Promise<Plan> {
  const { id, by: _, ...planned } = request
  if (id === undefined || !(await store.row(id))) return crew.plan({ of: 'fork', ...planned })
  return crew.run(id).plan({ of: 'resume', ...defined({ through: request.through }) })
}

function ignoreRefusal(error: unknown): undefined {
  if (RepriseError.isInstance(error) && error.code === 'PLAN_REFUSED') return undefined
  throw error
}

const formats: { readonly [A in PlannedTask['action']]: Format } = { execute: 'yellow', edit: 'cyan', inherit: 'dim' }

/** Prints the library's lines of a plan, wrapped, with colours for the actions. */
export function printPlan(channel: Channel, plan: Plan, { advice }: Pick<Commands, 'advice'>): void {
  const names = Math.max(0, ...plan.tasks.map((planned) => planned.task.length))
  // wrapped rows begin below the reasons, unless long names leave no room
  const column = '  execute  '.length + names + 2
  const indent = column > channel.width / 2 ? '  execute  '.length : column
  for (const { type, text, action } of planLines(plan, advice)) {
    if (action === undefined) {
      const format = type === 'warning' ? 'yellow' : undefined
      for (const row of wrap(text, channel.width, 4)) channel.line({ text: row, format })
      continue
    }
    const [first = '', ...rows] = wrap(`  ${text}`, channel.width, indent)
    channel.line('  ', { text: action, format: formats[action] }, first.slice(2 + action.length))
    for (const row of rows) channel.line(row)
  }
}
