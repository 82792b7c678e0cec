// The rows of a timeline: a row for each task, and below it rows for its attempts (if there are several), steps,
// delegations within steps, and questions. Below a nested crew are the rows of its child run, at any depth. A child run
// is open by default if it is active, waiting or failed, or contains the selection. The result also names the child
// runs that must be loaded. Pure, and fast enough for every rendering of a run with thousands of steps.
import { isInTreeOf } from '../../../journal/paths.ts'
import type { RunDetail, TaskDetail } from '../../api/contract.ts'
import type { AttemptSpan, Timeline, UnexecutedTask, QuestionSpan, StepSpan } from '../../../runs/timeline.ts'

/** The loaded parts of a child run. */
export interface ChildRun {
  readonly detail: RunDetail | undefined
  readonly timeline: Timeline | undefined
  readonly error: unknown
  /** Paths of its model calls that are streaming. */
  readonly streaming?: Iterable<string>
}

interface TreeRowsRequest {
  readonly root: { readonly detail: RunDetail; readonly timeline: Timeline; readonly streaming: Iterable<string> }
  /** Followed child runs by id. */
  readonly children: ReadonlyMap<string, ChildRun>
  /** The folds that the user opened (true) or closed (false), by key. */
  readonly folds: ReadonlyMap<string, boolean>
  /** The run with the selection. */
  readonly chosen: string
}

interface TreeRows {
  readonly rows: readonly TimelineRow[]
  /** Open child runs that aren't followed yet. */
  readonly wanted: readonly string[]
}

/** How many child runs open by default at most, because each reloads with every change. */
const maxOpenByDefault = 5

export function treeRows({ root, children, folds, chosen }: TreeRowsRequest): TreeRows {
  const wanted: string[] = []
  let openByDefault = 0
  const isOpen = ({ child = '', status }: AttemptSpan): boolean => {
    const byHand = folds.get(child)
    if (byHand !== undefined) return byHand
    const unsettled = status === 'open' || status === 'failed'
    // a child run that is shown stays open when it is done
    const shown = children.has(child) || isInTreeOf(chosen, child)
    if (!shown && (!unsettled || openByDefault >= maxOpenByDefault)) return false
    if (unsettled) openByDefault++
    return true
  }
  const within = (attempt: AttemptSpan, level: number): readonly TimelineRow[] | undefined => {
    const { child = '' } = attempt
    if (!isOpen(attempt)) return undefined
    const known = children.get(child)
    if (!known) wanted.push(child)
    if (known?.detail && known.timeline) return rowsOf(known.detail, known.timeline, level, known.streaming ?? [])
    return [missingRow(child, level, known?.error)]
  }
  const rowsOf = (detail: RunDetail, timeline: Timeline, level: number, streaming: Iterable<string>): TimelineRow[] =>
    timelineRows({
      tasks: detail.tasks,
      timeline,
      level,
      isRunning: detail.status === 'running',
      streaming,
      isOpen: (key) => folds.get(key) ?? true,
      within,
    })
  return { rows: rowsOf(root.detail, root.timeline, 0, root.streaming), wanted }
}

function missingRow(run: string, level: number, error: unknown): TimelineRow {
  const words = error === undefined ? 'Loading …' : `Can’t show this run: ${(error as Error).message}`
  return { type: 'missing', run, key: `missing ${run}`, depth: 0, level, at: '', words, bars: [] }
}

export type BarTone = 'model' | 'tool' | 'good' | 'bad' | 'asks' | 'busy' | 'quiet'

export interface Bar {
  readonly from: string
  /** Undefined while in progress. */
  readonly to: string | undefined
  readonly tone: BarTone
}

/** The rows below a row, which can be shown or hidden. */
export interface Fold {
  /** The id of the child run, or the ids of the run and task. */
  readonly key: string
  readonly label: string
  readonly open: boolean
}

interface RowBase {
  /** The run that the row belongs to. */
  readonly run: string
  readonly key: string
  /** Indentation within the run. */
  readonly depth: number
  /** Nesting depth of the run: 0 for the run of the page. */
  readonly level: number
  /** The row's name in the address: the name of a task, or the path of an attempt or step. */
  readonly at: string
  readonly bars: readonly Bar[]
  readonly fold?: Fold | undefined
}

export type TimelineRow = RowBase &
  (
    | {
        readonly type: 'task'
        readonly task: TaskDetail
        /** Set if the task was inherited, edited or skipped instead of executed. */
        readonly unexecuted: UnexecutedTask | undefined
        readonly steps: number
      }
    | { readonly type: 'attempt'; readonly attempt: AttemptSpan; readonly number: number }
    | { readonly type: 'step'; readonly step: StepSpan }
    | { readonly type: 'question'; readonly question: QuestionSpan }
    | { readonly type: 'streaming'; readonly path: string }
    /** A placeholder for a child run that isn't loaded yet, or can't be loaded. */
    | { readonly type: 'missing'; readonly words: string }
  )

export interface TimelineRowsRequest {
  readonly tasks: readonly TaskDetail[]
  readonly timeline: Timeline
  readonly level: number
  /** Whether a process executes the run. If not, open attempts aren't in progress. */
  readonly isRunning: boolean
  /** Paths of model calls that are streaming. */
  readonly streaming: Iterable<string>
  /** Whether the steps of a task are shown. */
  isOpen(key: string): boolean
  /** The rows of a child run. Undefined while it is closed. */
  within(attempt: AttemptSpan, level: number): readonly TimelineRow[] | undefined
}

export function timelineRows(of: TimelineRowsRequest): TimelineRow[] {
  const { tasks, timeline, level, isRunning, streaming, isOpen, within } = of
  const { runId: run } = timeline
  const own = new Map<string, AttemptSpan[]>()
  const nested = new Map<string, AttemptSpan[]>()
  for (const attempt of timeline.attempts) {
    const [map, key] = attempt.within === undefined ? [own, attempt.task] : [nested, attempt.within]
    const list = map.get(key)
    if (list) list.push(attempt)
    else map.set(key, [attempt])
  }
  const questionsByPath = Map.groupBy(timeline.questions, (question) => question.path)
  const streams = Map.groupBy(streaming, (path) => path.slice(0, path.lastIndexOf('/')))
  const unexecuted = new Map(timeline.given.map((each) => [each.task, each]))
  const rows: TimelineRow[] = []
  const parts = { run, level, nested, questionsByPath, streams, isRunning, rows, within }
  for (const task of tasks) {
    const attempts = own.get(task.name) ?? []
    const [first] = attempts
    const crew = attempts.length === 1 && first?.child !== undefined ? first : undefined
    const steps = attempts.reduce((sum, attempt) => sum + attempt.steps.length, 0)
    const key = `${run} ${task.name}`
    const inner = crew && within(crew, level + 1)
    const fold = crew ? crewFold(crew, task.name, inner) : { key, label: `Steps of ${task.name}`, open: isOpen(key) }
    rows.push({
      type: 'task',
      run,
      key: `task ${key}`,
      depth: 0,
      level,
      at: task.name,
      task,
      unexecuted: unexecuted.get(task.name),
      steps,
      fold: crew || steps > 0 || attempts.length > 1 ? fold : undefined,
      bars: taskBars(attempts, timeline.questions, task, isRunning),
    })
    if (!fold.open) continue
    if (crew) addCrew(parts, crew, 1, inner)
    else
      for (const [index, attempt] of attempts.entries()) {
        const several = attempts.length > 1
        const below = attempt.child === undefined ? undefined : within(attempt, level + 2)
        if (several) rows.push(attemptRow(parts, attempt, index + 1, 1, below))
        if (attempt.child === undefined) addSteps(parts, attempt, several ? 2 : 1)
        else addCrew(parts, attempt, 2, below)
      }
  }
  return rows
}

function crewFold({ child = '' }: AttemptSpan, label: string, inner: readonly TimelineRow[] | undefined): Fold {
  return { key: child, label: `Tasks of ${label}`, open: inner !== undefined }
}

/** Adds the rows of a child run, then what the parent run asks about it as a whole, such as to raise its limit. */
function addCrew(parts: Parts, crew: AttemptSpan, depth: number, inner: readonly TimelineRow[] = []): void {
  // one by one: push(...inner) would fail with too many arguments for a long run
  for (const row of inner) parts.rows.push(row)
  addSteps(parts, crew, depth)
}

interface Parts {
  readonly run: string
  readonly level: number
  readonly nested: ReadonlyMap<string, readonly AttemptSpan[]>
  readonly questionsByPath: ReadonlyMap<string, readonly QuestionSpan[]>
  readonly streams: ReadonlyMap<string, readonly string[]>
  readonly isRunning: boolean
  readonly rows: TimelineRow[]
  readonly within: TimelineRowsRequest['within']
}

function addSteps(parts: Parts, attempt: AttemptSpan, depth: number): void {
  const { run, level, rows, nested, questionsByPath, streams } = parts
  const addNested = (path: string): void => {
    for (const inner of nested.get(path) ?? []) {
      const below = inner.child === undefined ? undefined : parts.within(inner, level + 1)
      rows.push(attemptRow(parts, inner, 1, depth + 1, below))
      if (inner.child !== undefined) addCrew(parts, inner, depth + 2, below)
      else if (depth < 12) addSteps(parts, inner, depth + 2)
    }
  }
  const addQuestions = (list: readonly QuestionSpan[] = []): void => {
    for (const question of list) rows.push(questionRow(parts, question, depth))
  }
  const seen = new Set<string>()
  for (const step of attempt.steps) {
    seen.add(step.path)
    const own = questionsByPath.get(step.path) ?? []
    // an approval comes before the call
    addQuestions(own.filter(({ kind }) => kind === 'call'))
    rows.push({
      type: 'step',
      run,
      // not the path: a step that failed and was repeated has two rows
      key: `${run} ${step.seq}`,
      depth: step.kind === 'tool' ? depth + 1 : depth,
      level,
      at: step.path,
      step,
      bars: [stepBar(step)],
    })
    addQuestions(own.filter(({ kind }) => kind !== 'call'))
    addNested(step.path)
    // a call that waits for approval isn't a step yet
    if (step.kind === 'model')
      for (const path of questionsByPath.keys())
        if (path.startsWith(`${step.path}.`) && !attempt.steps.some((other) => other.path === path))
          addQuestions(questionsByPath.get(path))
  }
  addQuestions(questionsByPath.get(attempt.path))
  addNested(attempt.path)
  for (const path of streams.get(attempt.path) ?? []) {
    if (seen.has(path)) continue
    const from = attempt.steps.at(-1)?.to ?? attempt.from
    rows.push({
      type: 'streaming',
      run,
      key: `streaming ${run} ${path}`,
      depth,
      level,
      at: path,
      path,
      bars: [{ from, to: undefined, tone: 'busy' }],
    })
  }
}

function attemptRow(
  { run, level, isRunning }: Parts,
  attempt: AttemptSpan,
  number: number,
  depth: number,
  inner?: readonly TimelineRow[],
): TimelineRow {
  const { path, from, to, child } = attempt
  const bars = [{ from, to, tone: attemptTone(attempt, isRunning) }]
  const fold = child === undefined ? undefined : crewFold(attempt, path, inner)
  return { type: 'attempt', run, key: `${run} ${path}`, depth, level, at: path, attempt, number, bars, fold }
}

function questionRow({ run, level }: Parts, question: QuestionSpan, depth: number): TimelineRow {
  const bars = [{ from: question.from, to: question.to, tone: 'asks' as const }]
  const key = `question ${run} ${question.id}`
  return { type: 'question', run, key, depth: depth + 1, level, at: question.path, question, bars }
}

function taskBars(
  attempts: readonly AttemptSpan[],
  questions: readonly QuestionSpan[],
  { name, status }: TaskDetail,
  isRunning: boolean,
): Bar[] {
  const waits = questions.filter(({ path }) => path === name || path.startsWith(`${name}#`))
  const tone = (attempt: AttemptSpan): BarTone =>
    attempt.status === 'open' && status === 'failed' ? 'bad' : attemptTone(attempt, isRunning)
  return [
    ...attempts.map((attempt) => ({ from: attempt.from, to: attempt.to, tone: tone(attempt) })),
    ...waits.map(({ from, to }) => ({ from, to, tone: 'asks' as const })),
  ]
}

function attemptTone({ status }: AttemptSpan, isRunning: boolean): BarTone {
  if (status === 'open') return isRunning ? 'busy' : 'quiet'
  if (status === 'completed') return 'good'
  return status === 'failed' ? 'bad' : 'quiet'
}

/** Describes the failed tries of a step. Empty if there were none, or if the step failed at its only try. */
export function triesWords({ status, tries }: Pick<StepSpan, 'status' | 'tries'>): string {
  if (status === 'failed') return tries > 1 ? `${tries} tries` : ''
  if (tries === 0) return ''
  return tries === 1 ? '1 failed try' : `${tries} failed tries`
}

function stepBar({ from, to, kind, status }: StepSpan): Bar {
  if (status === 'failed') return { from, to, tone: 'bad' }
  if (status === 'denied') return { from, to, tone: 'asks' }
  return { from, to, tone: status === 'open' ? 'busy' : kind }
}
