// A timeline as the rows that are shown: a row for each task, below it its attempts where there are several, its steps,
// what is handed to coworkers within them, and what people were asked; below a task that is a crew, the rows of its
// run. Pure, and fast enough for every painting of a run with thousands of steps.
import type { TaskDetail } from '../../api/contract.ts'
import type { AttemptSpan, UnexecutedTask, QuestionSpan, StepSpan, Timeline } from '../../../runs/timeline.ts'

export type BarTone = 'model' | 'tool' | 'good' | 'bad' | 'asks' | 'busy' | 'quiet'

export interface Bar {
  readonly from: string
  /** Undefined while it lasts. */
  readonly to: string | undefined
  readonly tone: BarTone
}

/** What is below a row, and can be shown or not. */
export interface Fold {
  /** Of a task with steps; of a task or an attempt that is a crew, the id of its run. */
  readonly key: string
  readonly label: string
  readonly open: boolean
}

interface RowBase {
  /** The run that it is of. */
  readonly run: string
  readonly key: string
  /** How far in it is, within its run. */
  readonly depth: number
  /** How far in its run is: 0 for that of the page. */
  readonly level: number
  /** What the address calls it: a task's name, or the path of an attempt or a step. */
  readonly at: string
  readonly bars: readonly Bar[]
  readonly fold?: Fold | undefined
}

export type TimelineRow = RowBase &
  (
    | {
        readonly type: 'task'
        readonly task: TaskDetail
        readonly given: UnexecutedTask | undefined
        readonly steps: number
      }
    | { readonly type: 'attempt'; readonly attempt: AttemptSpan; readonly number: number }
    | { readonly type: 'step'; readonly step: StepSpan }
    | { readonly type: 'question'; readonly question: QuestionSpan }
    | { readonly type: 'saying'; readonly path: string }
    /** In place of the rows of a run that aren't there yet, or never will be. */
    | { readonly type: 'missing'; readonly words: string }
  )

export interface TimelineRowsRequest {
  readonly tasks: readonly TaskDetail[]
  readonly timeline: Timeline
  readonly level: number
  /** Whether somebody is at it: what is open then is under way, and else only not done. */
  readonly under: boolean
  /** Turns that a model is at now. */
  readonly saying: Iterable<string>
  /** Whether the steps of a task are shown. */
  isOpen(key: string): boolean
  /** The rows of the run of a crew; undefined while it is closed. */
  within(attempt: AttemptSpan, level: number): readonly TimelineRow[] | undefined
}

export function timelineRows(of: TimelineRowsRequest): TimelineRow[] {
  const { tasks, timeline, level, under, saying, isOpen, within } = of
  const { runId: run } = timeline
  const own = new Map<string, AttemptSpan[]>()
  const nested = new Map<string, AttemptSpan[]>()
  for (const attempt of timeline.attempts) {
    const [map, key] = attempt.within === undefined ? [own, attempt.task] : [nested, attempt.within]
    const list = map.get(key)
    if (list) list.push(attempt)
    else map.set(key, [attempt])
  }
  const asked = Map.groupBy(timeline.questions, (question) => question.path)
  const spoken = Map.groupBy(saying, (path) => path.slice(0, path.lastIndexOf('/')))
  const given = new Map(timeline.given.map((each) => [each.task, each]))
  const rows: TimelineRow[] = []
  const parts = { run, level, nested, asked, spoken, under, rows, within }
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
      given: given.get(task.name),
      steps,
      fold: crew || steps > 0 || attempts.length > 1 ? fold : undefined,
      bars: taskBars(attempts, timeline.questions, task, under),
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
  return { key: child, label: `Tasks of the crew of ${label}`, open: inner !== undefined }
}

/** What people were asked about the crew as a whole, such as its limit, is of the run that has the task. */
function addCrew(parts: Parts, crew: AttemptSpan, depth: number, inner: readonly TimelineRow[] = []): void {
  // one by one: as arguments of one call, those of a long run would be too many
  for (const row of inner) parts.rows.push(row)
  addSteps(parts, crew, depth)
}

interface Parts {
  readonly run: string
  readonly level: number
  readonly nested: ReadonlyMap<string, readonly AttemptSpan[]>
  readonly asked: ReadonlyMap<string, readonly QuestionSpan[]>
  readonly spoken: ReadonlyMap<string, readonly string[]>
  readonly under: boolean
  readonly rows: TimelineRow[]
  readonly within: TimelineRowsRequest['within']
}

function addSteps(parts: Parts, attempt: AttemptSpan, depth: number): void {
  const { run, level, rows, nested, asked, spoken } = parts
  const within = (path: string): void => {
    for (const inner of nested.get(path) ?? []) {
      const below = inner.child === undefined ? undefined : parts.within(inner, level + 1)
      rows.push(attemptRow(parts, inner, 1, depth + 1, below))
      if (inner.child !== undefined) addCrew(parts, inner, depth + 2, below)
      else if (depth < 12) addSteps(parts, inner, depth + 2)
    }
  }
  const questions = (list: readonly QuestionSpan[] = []): void => {
    for (const question of list) rows.push(questionRow(parts, question, depth))
  }
  const seen = new Set<string>()
  for (const step of attempt.steps) {
    seen.add(step.path)
    const own = asked.get(step.path) ?? []
    // an approval is asked for before its call is made
    questions(own.filter(({ kind }) => kind === 'call'))
    rows.push({
      type: 'step',
      run,
      // a turn that failed and was taken again is there twice
      key: `${run} ${step.seq}`,
      depth: step.kind === 'tool' ? depth + 1 : depth,
      level,
      at: step.path,
      step,
      bars: [stepBar(step)],
    })
    questions(own.filter(({ kind }) => kind !== 'call'))
    within(step.path)
    // a call that waits for its approval isn't a step yet
    if (step.kind === 'model')
      for (const path of asked.keys())
        if (path.startsWith(`${step.path}.`) && !attempt.steps.some((other) => other.path === path))
          questions(asked.get(path))
  }
  questions(asked.get(attempt.path))
  within(attempt.path)
  for (const path of spoken.get(attempt.path) ?? []) {
    if (seen.has(path)) continue
    const from = attempt.steps.at(-1)?.to ?? attempt.from
    rows.push({
      type: 'saying',
      run,
      key: `saying ${run} ${path}`,
      depth,
      level,
      at: path,
      path,
      bars: [{ from, to: undefined, tone: 'busy' }],
    })
  }
}

function attemptRow(
  { run, level, under }: Parts,
  attempt: AttemptSpan,
  number: number,
  depth: number,
  inner?: readonly TimelineRow[],
): TimelineRow {
  const { path, from, to, child } = attempt
  const bars = [{ from, to, tone: attemptTone(attempt, under) }]
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
  under: boolean,
): Bar[] {
  const waits = questions.filter(({ path }) => path === name || path.startsWith(`${name}#`))
  const tone = (attempt: AttemptSpan): BarTone =>
    attempt.status === 'open' && status === 'failed' ? 'bad' : attemptTone(attempt, under)
  return [
    ...attempts.map((attempt) => ({ from: attempt.from, to: attempt.to, tone: tone(attempt) })),
    ...waits.map(({ from, to }) => ({ from, to, tone: 'asks' as const })),
  ]
}

function attemptTone({ status }: AttemptSpan, under: boolean): BarTone {
  if (status === 'open') return under ? 'busy' : 'quiet'
  if (status === 'completed') return 'good'
  return status === 'failed' ? 'bad' : 'quiet'
}

/** Of a step: the last try of a failed one is its failure, which is shown already. */
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
