// The runs, tasks, questions and crews that a store has, for the word that somebody types.
import { existsSync } from 'node:fs'
import { defined } from '../../base/defined.ts'
import { isBacktest } from '../../engine/history/backtest-name.ts'
import { allRows } from '../../engine/history/all-rows.ts'
import { decisions } from '../../engine/people/questions.ts'
import { canRequeue, isUnfinished, latestRun, runsNamed } from '../../runs/find.ts'
import { asksPeople } from '../../runs/waiting-questions.ts'
import { runViewStatuses } from '../../runs/status.ts'
import { rowStatus } from '../../runs/summary.ts'
import { tasksOf } from '../../runs/task-view.ts'
import { readUnit, type Unit } from '../../runs/unit.ts'
import type { RunRow, Store } from '../../stores/store.ts'
import { openExistingRuns } from '../find/open-runs.ts'
import { shortTime } from '../terminal/entries-word.ts'
import type { Candidate, Typed } from './complete.ts'

/** More than anybody looks through. */
const mostRuns = 200

/** By the name of the value in the table. Nothing where there is no store. */
export async function storedValues(kind: string, typed: Typed): Promise<readonly Candidate[]> {
  if (kind === 'status') return Object.keys(runViewStatuses).map((value) => ({ value }))
  const source = sources[kind]
  if (!source) return []
  if (existsSync('.env')) process.loadEnvFile('.env')
  const [store, file] = ['--store', '--file'].map((option) => typed.given.get(option))
  await using engine = await openExistingRuns({ options: defined({ store, file }) })
  // awaited, or the store would be closed before it is read
  return engine ? await source(engine.store, typed) : []
}

type Source = (store: Store, typed: Typed) => Promise<readonly Candidate[]>

const sources: { readonly [kind: string]: Source } = {
  run: runs,
  a: runs,
  b: runs,
  task: tasks,
  question: questions,
  decision: decisionNames,
  crew: crews,
  name: crews,
}

/** The runs that a command can do something with, where that is not any. */
const fitting: { readonly [command: string]: (store: Store, row: RunRow) => boolean | Promise<boolean> } = {
  answer: asksPeople,
  cancel: canGoOn,
  edit: canGoOn,
  invalidate: canGoOn,
  requeue: waitsForResume,
  resume: canGoOn,
}

function canGoOn(_: Store, row: RunRow): boolean {
  return isUnfinished(row)
}

function waitsForResume(_: Store, row: RunRow): boolean {
  return canRequeue(row)
}

async function runs(store: Store, { command }: Typed): Promise<readonly Candidate[]> {
  const now = new Date()
  const found: Candidate[] = []
  const fits = fitting[command.name()] ?? (() => true)
  for await (const row of allRows(store, {})) {
    if (!(await fits(store, row))) continue
    const { run, crew, createdAt } = row
    found.push({ value: run, note: `${crew}, ${await rowStatus(store, row)}, ${shortTime(createdAt, now)}` })
    if (found.length === mostRuns) break
  }
  return found.length === 0 ? [] : [{ value: 'latest', note: 'the newest run' }, ...found]
}

async function tasks(store: Store, typed: Typed): Promise<readonly Candidate[]> {
  const unit = await unitOf(store, typed)
  return unit ? tasksOf(unit.state).map(({ name, description }) => ({ value: name, note: description })) : []
}

async function questions(store: Store, typed: Typed): Promise<readonly Candidate[]> {
  const unit = await unitOf(store, typed)
  return unit?.questions.map(({ id, text }) => ({ value: id, note: text })) ?? []
}

/** Those of the question that is named; else of all kinds. */
async function decisionNames(store: Store, typed: Typed): Promise<readonly Candidate[]> {
  const open = (await unitOf(store, typed))?.questions ?? []
  const kind = open.find(({ id }) => id === typed.positionals[1])?.kind
  const forms = kind === undefined ? Object.values(decisions) : [decisions[kind]]
  return [...new Set(forms.flatMap((form) => Object.keys(form)))].map((value) => ({ value }))
}

/** Of `--crew`; `--by <name>` means a person. */
async function crews(store: Store, typed: Typed): Promise<readonly Candidate[]> {
  if (typed.option !== '--crew') return []
  const names = new Set<string>()
  for await (const { crew } of allRows(store, {})) if (!isBacktest(crew)) names.add(crew)
  return [...names].map((value) => ({ value }))
}

/** Of the run that was named, else of the latest: a task has its name in every run. */
async function unitOf(store: Store, { command, given, positionals }: Typed): Promise<Unit | undefined> {
  const first = command.registeredArguments[0]?.name() === 'run' ? positionals[0] : undefined
  const row = await rowOf(store, first ?? given.get('--run') ?? 'latest')
  return row && readUnit(store, row.run)
}

/** The first that begins like this: nobody can be asked which one is meant. */
async function rowOf(store: Store, name: string): Promise<RunRow | undefined> {
  return name === 'latest' ? latestRun(store) : (await runsNamed(store, name))[0]
}
