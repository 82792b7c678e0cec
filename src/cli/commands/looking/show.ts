// `reprise show`: one run as its journal tells it, one task of it as a whole, and what its models were sent.
import { describeEntry } from '../../../crew/result/log.ts'
import { listRuns } from '../../../crew/result/list-runs.ts'
import { countChildren, questionsOf } from '../../../engine/task/children.ts'
import { readEntries, readRun } from '../../../engine/read/read-run.ts'
import type { Entry } from '../../../journal/entries.ts'
import { taskOf } from '../../../journal/paths.ts'
import type { RunState } from '../../../journal/state/state.ts'
import type { Next } from '../../../next.ts'
import type { Store } from '../../../stores/store.ts'
import { exitCodes, UsageError } from '../../exit-codes.ts'
import { findRun } from '../../find/find-run.ts'
import { chooseTask } from '../../find/find-task.ts'
import type { Invocation } from '../../invocation.ts'
import { recordOf, type RunRecord } from '../../show/run-record.ts'
import { promptPrinter } from '../../show/run/print-prompts.ts'
import { printOpenQuestion } from '../../show/print-question.ts'
import { printRun, printTask } from '../../show/run/print-run.ts'
import { printWholeTask } from '../../show/run/print-task.ts'
import { promptsSent } from '../../show/run/prompts-sent.ts'
import { wholeTask } from '../../show/run/task-history.ts'
import { openRuns } from '../../find/open-runs.ts'
import type { Channel, Terminal } from '../../terminal/terminal.ts'
import { clock } from '../../terminal/entries-word.ts'

export interface ShowOptions {
  readonly task?: string
  readonly steps?: boolean
  readonly prompts?: boolean
}

export async function show(invocation: Invocation<ShowOptions>): Promise<number> {
  const { terminal, args, options, commands } = invocation
  const { steps = false, prompts = false } = options
  if (terminal.json && steps && prompts)
    throw new UsageError('--steps and --prompts print different objects; with --json, give one of them')
  await using engine = await openRuns(options.store)
  const { run } = await findRun(engine.store, args[0])
  const state = await countChildren(engine.store, (await readRun(engine.store, run)).state)
  const task = options.task === undefined ? undefined : await taskIn(state, options.task)
  if (terminal.json && (steps || prompts)) {
    if (steps) for await (const entry of entriesOf(engine.store, run, task)) terminal.record(entry)
    else for await (const prompt of promptsSent(engine.store, run, task)) terminal.record(prompt)
    return exitCodes.done
  }
  const abandoned = state.status === 'running' && (await engine.store.holder(run)) === undefined
  const record = recordOf(state, abandoned, await questionsOf(engine.store, state))
  const whole = task === undefined ? undefined : wholeOf(state, record, task)
  if (terminal.json) {
    terminal.record(whole ?? record)
    return exitCodes.done
  }
  if (whole) printWholeTask(terminal.out, whole)
  else {
    const children = await listRuns(engine, { parent: run }, 20)
    const ids = children.map((child) => child.id)
    printRun(terminal.out, record, ids)
    for (const one of record.tasks) printTask(terminal.out, one)
  }
  if (steps) await printSteps(terminal.out, entriesOf(engine.store, run, task))
  if (prompts) await printPrompts(terminal, engine.store, run, task)
  const asked = record.questions.filter(({ path }) => task === undefined || taskOf(path) === task)
  for (const question of asked) printOpenQuestion(terminal.out, commands, run, question)
  const next = nextOf(record, task)
  if (next) terminal.err.line(`\n${commands.advice(next)}`)
  return exitCodes.done
}

/** Its name. TASK_NOT_FOUND. */
async function taskIn(state: RunState, reference: string): Promise<string> {
  const tasks = [...state.tasks.values()].filter((task) => !task.removed)
  return (await chooseTask(tasks, reference, `run ${state.run}`)).name
}

function wholeOf(state: RunState, record: RunRecord, name: string): ReturnType<typeof wholeTask> | undefined {
  const task = state.tasks.get(name)
  const found = record.tasks.find((one) => one.name === name)
  return task && found && wholeTask(state, task, found)
}

/** Of one task, or of the whole run. */
async function* entriesOf(store: Store, run: string, task: string | undefined): AsyncGenerator<Entry> {
  for await (const { entry } of readEntries(store, run))
    if (task === undefined || (entry.path !== undefined && taskOf(entry.path) === task)) yield entry
}

async function printSteps(channel: Channel, entries: AsyncIterable<Entry>): Promise<void> {
  channel.line()
  channel.line({ text: 'steps', format: 'bold' })
  for await (const entry of entries)
    channel.shortLine(`${String(entry.seq).padStart(5)}  ${clock(entry.at)}  `, describeEntry(entry) ?? entry.type)
}

async function printPrompts(
  { out, err }: Terminal,
  store: Store,
  run: string,
  task: string | undefined,
): Promise<void> {
  const print = promptPrinter(out)
  let count = 0
  for await (const prompt of promptsSent(store, run, task)) {
    count++
    print(prompt)
  }
  if (count === 0) err.line('no model was asked')
}

/** Of a run that is over: from the task that is looked at, or from the last one, on which the least is spent. */
function nextOf({ id, status, abandoned, questions, tasks }: RunRecord, task = tasks.at(-1)?.name): Next | undefined {
  if (questions.length > 0 || status === 'queued' || status === 'cancelled') return undefined
  if (status === 'completed') return task === undefined ? undefined : { act: 'replay', runId: id, task }
  return status === 'running' && !abandoned ? undefined : { act: 'resume', runId: id }
}
