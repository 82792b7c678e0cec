// `reprise show`: one run from its journal, one task of it in full, or the prompts that were sent to its models.
import { Option } from 'commander'
import { runArgument, withStore } from '../options.ts'
import { canRetry, continueWords, statusFormat } from '../output/run-words.ts'
import { showLineage } from '../output/show-lineage.ts'
import { showVerification } from '../output/show-verification.ts'
import { printTable } from '../output/print-table.ts'
import { findRootRun, noteRun, findRun } from '../find/find-run.ts'
import { describeEntry } from '../../journal/table/entry-table.ts'
import type { Entry } from '../../journal/entries.ts'
import { taskInPath } from '../../journal/paths.ts'
import { suggestDecision } from '../../journal/describe.ts'
import type { NextStep } from '../../base/next.ts'
import { readSummary } from '../../read/row-summary.ts'
import { buildRunView, type RunView, readRunTree } from '../../runs/run-view.ts'
import { type TaskView, taskView } from '../../runs/task-view.ts'
import { isMovedReason } from '../../runs/status.ts'
import { readTranscript, type Transcript } from '../../runs/transcript.ts'
import { onlyMadeFrom } from '../../runs/lineage.ts'
import type { Store } from '../../stores/store.ts'
import { exitCodes, UsageError } from '../exit-codes.ts'
import { chooseRunTask } from '../find/find-task.ts'
import type { Command, Invocation } from '../command.ts'
import type { CommandNext } from '../write-command.ts'
import { promptPrinter, promptsSent, type SentPrompt } from '../output/print-prompts.ts'
import { printOpenQuestion } from '../output/print-question.ts'
import { printRun, printTask } from '../output/print-run.ts'
import { printSteps } from '../output/print-steps.ts'
import { mostTurns, printTranscript } from '../output/print-transcript.ts'
import { printWholeTask, wholeTask } from '../output/print-task.ts'
import { openRuns } from '../find/open-runs.ts'
import type { Channel, Terminal } from '../output/terminal.ts'
import { clock } from '../../text/words.ts'

interface ShowOptions {
  readonly task?: string
  readonly steps?: boolean
  readonly prompts?: boolean
  readonly tasks?: boolean
  readonly lineage?: boolean
  readonly verify?: boolean
}

export const showCommand: Command<ShowOptions> = {
  declare: (command) =>
    withStore(command)
      .argument('[run]', runArgument)
      .option('--task <task>', 'show one task in full: name or id')
      .option('--steps', 'list the entries of its journal')
      .option('--prompts', 'print what was sent to the model, step by step')
      .addOption(instead('--tasks', 'list its tasks with their ids', ['lineage', 'verify']))
      .addOption(instead('--lineage', 'show the runs that it was forked from, and those forked from it', ['verify']))
      .addOption(instead('--verify', 'check its journal against its hashes', [])),
  examples: ['reprise show latest --task note --prompts'],
  action: show,
}

async function show(invocation: Invocation<ShowOptions>): Promise<number> {
  const { terminal, args, options, commands } = invocation
  const { steps = false, prompts = false } = options
  if (terminal.json && steps && prompts)
    throw new UsageError('--steps and --prompts print different objects; with --json, give one of them')
  await using runs = await openRuns(invocation)
  const row = await findRun(runs.store, args[0])
  const run = await noteRun(commands, runs.store, row)
  if (options.lineage) {
    await showLineage(terminal, runs.store, row)
    return exitCodes.done
  }
  if (options.verify) {
    const whole = await showVerification(terminal, commands, runs.store, run)
    return whole ? exitCodes.done : exitCodes.failed
  }
  if (options.tasks) {
    showTasks(terminal, await buildRunView(await readRunTree(runs.store, run)))
    return exitCodes.done
  }
  const entries: Entry[] = []
  const found = options.task === undefined ? undefined : await chooseRunTask(runs.store, run, options.task)
  const { task, run: owner } = found ?? { run }
  const tree = await readRunTree(runs.store, owner, steps || prompts ? (entry) => entries.push(entry) : undefined)
  const chosen = entries.filter(({ path }) => !task || (path !== undefined && taskInPath(path) === task.name))
  if (terminal.json && (steps || prompts)) {
    for (const record of steps ? chosen : promptsSent(owner, entries, task?.name)) terminal.record(record)
    return exitCodes.done
  }
  const whole = task && wholeTask(tree.state, task, await taskView(tree, task))
  const view = await buildRunView(tree)
  const transcript = view.chat && !whole ? await readTranscript(runs.store, owner, { limit: mostTurns }) : undefined
  if (terminal.json) {
    terminal.record(whole ?? { ...view, ...(transcript ? { conversation: transcript } : {}) })
    return exitCodes.done
  }
  if (whole) printWholeTask(terminal.out, whole)
  else {
    printRun(terminal.out, view, await latestForks(runs.store, run))
    if (transcript) printTranscript(terminal.out, transcript)
    else if (view.flow) printSteps(terminal.out, commands, view)
    else for (const one of view.tasks) printTask(terminal.out, one)
  }
  if (steps) printEntries(terminal.out, chosen)
  if (prompts) printPrompts(terminal, promptsSent(owner, entries, task?.name))
  const asked = view.questions.filter(({ path }) => !task || taskInPath(path) === task.name)
  // without --task, the inputs and outputs of this run are printed above
  for (const question of asked) printOpenQuestion(terminal.out, commands, owner, question, whole ? 0 : 1)
  // a flow is replayed from a task of a child run; of a crew, that child run is
  const isWithin = found !== undefined && owner !== run && (readSummary(row).flow ?? false)
  const replayed = isWithin ? { runId: run, task: found.address } : { runId: owner, task: task?.name }
  const next = transcript ? messageStep(transcript) : nextStep(view, await findRootRun(runs.store, run), replayed)
  if (next) terminal.err.line(`\n${continueWords(view.status, commands.advice(next))}`)
  return exitCodes.done
}

export const logTasksOutputsCommand: Command = {
  declare: (command) => withStore(command).argument('[run]', runArgument, 'latest'),
  examples: ['reprise log-tasks-outputs'],
  action: logTasksOutputs,
}

/** An option that replaces what the command shows. */
function instead(flags: string, words: string, others: readonly string[]): Option {
  return new Option(flags, `instead, ${words}`).conflicts(['task', 'steps', 'prompts', ...others])
}

/** `reprise log-tasks-outputs`, CrewAI's name. Defaults to the latest run. */
async function logTasksOutputs(invocation: Invocation): Promise<number> {
  const { args, options } = invocation
  return show({ ...invocation, args: [args[0] ?? 'latest'], options: { ...options, tasks: true } })
}

function showTasks(terminal: Terminal, { runId, crew, flow, tasks }: RunView): void {
  if (terminal.json) {
    for (const task of tasks) terminal.record({ runId, ...task })
    return
  }
  terminal.err.line(`${flow ? 'steps' : 'tasks'} of run ${runId} of crew ${crew}`)
  printTable(
    terminal.out,
    [
      { title: flow ? 'step' : 'task', value: (task) => task.name, shrinkTo: 12 },
      ...(flow ? [] : [{ title: 'id', value: (task: TaskView) => task.id }]),
      { title: 'status', value: (task) => task.status, format: (task) => statusFormat(task.status) },
      { title: 'output', value: outputLine, shrinkTo: 8 },
    ],
    tasks,
  )
}

function outputLine({ error, raw }: TaskView): string {
  return (error?.message ?? raw).trimStart().split('\n', 1)[0] ?? ''
}

/** Returns the ids of the newest forks of the run. */
async function latestForks(store: Store, run: string): Promise<string[]> {
  const { rows } = await store.list({ forkedFrom: run }, { limit: 20 })
  return rows.filter(await onlyMadeFrom(store, run)).map((row) => row.run)
}

function printEntries(channel: Channel, entries: readonly Entry[]): void {
  channel.line()
  channel.line({ text: 'entries', format: 'bold' })
  for (const entry of entries)
    channel.shortLine(`${String(entry.seq).padStart(5)}  ${clock(entry.at)}  `, describeEntry(entry) ?? entry.type)
}

function printPrompts({ out, err }: Terminal, prompts: Iterable<SentPrompt>): void {
  const print = promptPrinter(out)
  let count = 0
  for (const prompt of prompts) {
    count++
    print(prompt)
  }
  if (count === 0) err.line('no model was called')
}

/**
 * Returns the step to advise. For a completed run: a replay from the shown task; without a shown task, the run that
 * continues it, a retry of failed tasks, or else a replay from the last task, which costs least.
 */
function nextStep(
  { runId, status, why, lives, failures, tasks, orphaned, next }: RunView,
  root: string,
  replayed: { readonly runId: string; readonly task: string | undefined },
): NextStep | undefined {
  if (isMovedReason({ why })) return undefined
  switch (status) {
    case 'completed':
      if (replayed.task === undefined && next !== undefined) return { type: 'show', runId: next }
      if (replayed.task === undefined && canRetry(failures)) return { type: 'retry', runId }
      return replayStep(replayed.runId, replayed.task ?? tasks.at(-1)?.name)
    case 'queued':
      // a run that was never started is meant for workers
      return lives > 0 ? { type: 'resume', runId: root } : undefined
    case 'abandoned':
    case 'sleeping':
    case 'stopped':
    case 'failed':
      return orphaned.length > 0 && runId === root ? suggestDecision(runId, orphaned) : { type: 'resume', runId: root }
    default:
      return undefined
  }
}

function messageStep({ id }: Transcript): CommandNext {
  return { type: 'command', to: 'say something', words: ['send'], values: [id, 'message', 'Hello'] }
}

function replayStep(runId: string, task: string | undefined): NextStep | undefined {
  return task === undefined ? undefined : { type: 'replay', runId, task }
}
