// `reprise backtest`: executes one task, with today's code, on the inputs that it had in earlier runs.
import { collect, runArgument, taskArgument, wholeNumber, withCrew } from '../options.ts'
import { backtestIndents, backtestLines, type Backtest, type BacktestLine } from '../../crew/result/backtest.ts'
import type { BacktestPlan } from '../../crew/verbs/plan-backtest.ts'
import { openCrewStore } from '../../crew/open-crew.ts'
import { stopOnInterrupt } from '../execute.ts'
import { parentRunId } from '../../journal/paths.ts'
import { exitCodes, UsageError } from '../exit-codes.ts'
import { findRun, loadCrewOfRun } from '../find/find-run.ts'
import { findTaskName, hasTask, namedTask } from '../find/find-task.ts'
import type { Command, CrewOptions, Invocation } from '../command.ts'
import { loadCrew } from '../find/load-crew.ts'
import { locateStore } from '../find/open-runs.ts'
import { observeStore } from '../live/progress.ts'
import { confirm } from '../input/ask-line.ts'
import type { Channel, Format } from '../output/terminal.ts'
import { dollars, duration, plural } from '../../text/words.ts'
import { wrap } from '../../text/wrap.ts'

interface BacktestCommandOptions extends CrewOptions {
  readonly task?: string
  readonly runs?: number
  readonly run?: readonly string[]
  readonly id?: string
  readonly yes?: boolean
}

export const backtestCommand: Command<BacktestCommandOptions> = {
  declare: (command) =>
    withCrew(command)
      .argument('[task]', taskArgument)
      .option('-t, --task <task>', 'same as the argument')
      .option('--runs <number>', 'how many of the latest runs (default: 20)', wholeNumber)
      .option('--run <run>', `this run instead of the latest ones: ${runArgument}; repeatable`, collect)
      .option('--id <id>', 'id of the backtest; the same id again continues an interrupted backtest')
      .option('--yes', 'do not ask before anything is spent'),
  examples: ['reprise backtest note --runs 10'],
  action: backtest,
}

async function backtest(invocation: Invocation<BacktestCommandOptions>): Promise<number> {
  const { terminal, options, commands } = invocation
  const named = namedTask(invocation)
  if (options.run && options.runs !== undefined) throw new UsageError('--run and --runs exclude one another; give one')
  const [first] = options.run ?? []
  const found =
    first === undefined
      ? await loadCrew(options.file, options.crew, (crew) => hasTask(crew, named))
      : (await loadCrewOfRun(options, first)).crew
  const task = await findTaskName(found, named)
  commands.setStore(locateStore(found.store, commands.file))
  const store = await openCrewStore(options.store ?? found.store)
  let begin = performance.now()
  const origins = new Map<string, string>()
  const observed = observeStore(store, (entry, trial) => {
    if (entry.type === 'run.created' && entry.parent) origins.set(trial, entry.parent.run)
    if (entry.type !== 'run.completed' && entry.type !== 'run.failed') return
    // child runs of trials are not printed
    if (parentRunId(trial) !== undefined) return
    const words = `${entry.type === 'run.completed' ? 'done' : 'failed'} on run ${origins.get(trial) ?? trial}`
    terminal.err.shortLine(`${duration(performance.now() - begin).padStart(6)}  `, words)
  })
  using interrupt = stopOnInterrupt(terminal.err)
  try {
    const crew = found.with({ store: observed.store })
    const namedRows = options.run && (await Promise.all(options.run.map((run) => findRun(store, run, crew.name))))
    const runs = namedRows ? namedRows.map(({ run }) => run) : (options.runs ?? 20)
    const given = options.id === undefined ? {} : { id: options.id }
    const plan = await crew.planBacktest(task, { runs, ...given })
    const count = plan.execute
    const expected = plan.cases.length > 0 ? wrap(describeExpectation(plan), terminal.err.width, 2) : []
    for (const row of expected) terminal.err.line(row)
    const question = `Execute ${task} up to ${plural(count, 'time')}?`
    if (count > 0 && !(await confirm(question, { yes: options.yes ?? false, err: terminal.err }))) {
      terminal.err.line('nothing was started')
      return exitCodes.usage
    }
    begin = performance.now()
    const report = await crew.backtest(task, { runs, ...given, signal: interrupt.signal })
    await observed.delivered()
    if (terminal.json) terminal.record(backtestRecord(report))
    else printBacktest(terminal.out, report)
    if (report.pending === 0) return report.failed > 0 ? exitCodes.failed : exitCodes.done
    const which = options.run?.flatMap((run) => ['--run', run]) ?? []
    const last = options.runs === undefined ? [] : ['--runs', String(options.runs)]
    const words = ['backtest', '-t', task, '--id', report.id, ...which, ...last]
    terminal.err.line(commands.advice({ type: 'command', to: 'continue', words, takes: 'crew' }))
    return exitCodes.suspended
  } finally {
    await observed.delivered()
    await store.close()
  }
}

function describeExpectation({ task, cases, estimate }: BacktestPlan): string {
  const runs = new Set(cases.map(({ runId }) => runId)).size
  const trials = runs === cases.length ? '' : `, ${plural(cases.length, 'trial')}`
  const tokens = estimate && (estimate.usage.input + estimate.usage.output).toLocaleString('en')
  const cost = estimate?.cost === undefined ? 'cost unknown' : dollars(estimate.cost)
  const each =
    estimate === undefined
      ? 'tokens and cost unknown'
      : estimate.usage.calls === 0
        ? 'no model calls expected'
        : `about ${tokens} tokens, ${cost} each (median of ${estimate.samples})`
  return `Backtest of ${task} on ${plural(runs, 'earlier run')}${trials}: ${each}; tools that may change something are not called`
}

/** JSON leaves out the message of an Error. */
function backtestRecord(report: Backtest): object {
  const cases = report.cases.map(({ error, ...one }) => ({
    ...one,
    ...(error ? { error: { code: error.code, message: error.facts } } : {}),
  }))
  return { ...report, cases }
}

function printBacktest(channel: Channel, report: Backtest): void {
  for (const { type, text } of backtestLines(report)) {
    const indent = backtestIndents[type]
    for (const row of wrap(indent + text, channel.width, indent.length || 2))
      channel.line({ text: row, format: formats[type] })
  }
}

const formats: { readonly [type in BacktestLine['type']]?: Format } = { title: 'bold', old: 'red', new: 'green' }
