// A timeline as the rows that are shown: a row for each task, below it its attempts where there are several, its steps,
// what is handed to coworkers within them, and what people were asked. Pure, and fast enough for every painting of a
// run with thousands of steps.
import type { TaskDetail } from '../../api/contract.ts'
import type { AttemptSpan, GivenTask, QuestionSpan, StepSpan, Timeline } from '../../timeline/timeline.ts'

export type BarTone = 'model' | 'tool' | 'good' | 'bad' | 'asks' | 'busy' | 'quiet'

export interface Bar {
  readonly from: string
  /** Undefined while it lasts. */
  readonly to: string | undefined
  readonly tone: BarTone
}

interface RowBase {
  readonly key: string
  readonly depth: number
  /** What the address calls it: a task's name, or the path of an attempt or a step. */
  readonly at: string
  readonly bars: readonly Bar[]
}

export type TimelineRow = RowBase &
  (
    | {
        readonly is: 'task'
        readonly task: TaskDetail
        readonly given: GivenTask | undefined
        readonly steps: number
        readonly open: boolean
      }
    | { readonly is: 'attempt'; readonly attempt: AttemptSpan; readonly number: number }
    | { readonly is: 'step'; readonly step: StepSpan }
    | { readonly is: 'question'; readonly question: QuestionSpan }
    | { readonly is: 'saying'; readonly path: string }
  )

interface RowsOf {
  readonly tasks: readonly TaskDetail[]
  readonly timeline: Timeline
  /** Tasks whose steps are not shown. */
  readonly closed: ReadonlySet<string>
  /** Whether somebody is at it: what is open then is under way, and else only not done. */
  readonly under: boolean
  /** Turns that a model is at now. */
  readonly saying: Iterable<string>
}

export function timelineRows({ tasks, timeline, closed, under, saying }: RowsOf): TimelineRow[] {
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
  const parts = { nested, asked, spoken, under, rows }
  for (const task of tasks) {
    const attempts = own.get(task.name) ?? []
    const open = !closed.has(task.name)
    rows.push({
      is: 'task',
      key: `task ${task.name}`,
      depth: 0,
      at: task.name,
      task,
      given: given.get(task.name),
      steps: attempts.reduce((sum, attempt) => sum + attempt.steps.length, 0),
      open,
      bars: taskBars(attempts, timeline.questions, task, under),
    })
    if (!open) continue
    for (const [index, attempt] of attempts.entries()) {
      const several = attempts.length > 1 || attempt.child !== undefined
      if (several) rows.push(attemptRow(attempt, index + 1, 1, under))
      addSteps(parts, attempt, several ? 2 : 1)
    }
  }
  return rows
}

interface Parts {
  readonly nested: ReadonlyMap<string, readonly AttemptSpan[]>
  readonly asked: ReadonlyMap<string, readonly QuestionSpan[]>
  readonly spoken: ReadonlyMap<string, readonly string[]>
  readonly under: boolean
  readonly rows: TimelineRow[]
}

function addSteps(parts: Parts, attempt: AttemptSpan, depth: number): void {
  const { rows, nested, asked, spoken } = parts
  const within = (path: string): void => {
    for (const inner of nested.get(path) ?? []) {
      rows.push(attemptRow(inner, 1, depth + 1, parts.under))
      if (depth < 12) addSteps(parts, inner, depth + 2)
    }
  }
  const questions = (path: string): void => {
    for (const question of asked.get(path) ?? []) rows.push(questionRow(question, depth))
  }
  const seen = new Set<string>()
  for (const step of attempt.steps) {
    seen.add(step.path)
    rows.push({
      is: 'step',
      key: step.path,
      depth: step.kind === 'tool' ? depth + 1 : depth,
      at: step.path,
      step,
      bars: [stepBar(step)],
    })
    questions(step.path)
    within(step.path)
    // a call that waits for its approval isn't a step yet
    if (step.kind === 'model')
      for (const path of asked.keys())
        if (path.startsWith(`${step.path}.`) && !attempt.steps.some((other) => other.path === path)) questions(path)
  }
  questions(attempt.path)
  within(attempt.path)
  for (const path of spoken.get(attempt.path) ?? []) {
    if (seen.has(path)) continue
    const from = attempt.steps.at(-1)?.to ?? attempt.from
    rows.push({
      is: 'saying',
      key: `saying ${path}`,
      depth,
      at: path,
      path,
      bars: [{ from, to: undefined, tone: 'busy' }],
    })
  }
}

function attemptRow(attempt: AttemptSpan, number: number, depth: number, under: boolean): TimelineRow {
  const bars = [{ from: attempt.from, to: attempt.to, tone: attemptTone(attempt, under) }]
  return { is: 'attempt', key: attempt.path, depth, at: attempt.path, attempt, number, bars }
}

function questionRow(question: QuestionSpan, depth: number): TimelineRow {
  const bars = [{ from: question.from, to: question.to, tone: 'asks' as const }]
  return { is: 'question', key: `question ${question.id}`, depth: depth + 1, at: question.path, question, bars }
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

function stepBar({ from, to, kind, status }: StepSpan): Bar {
  if (status === 'failed') return { from, to, tone: 'bad' }
  if (status === 'denied') return { from, to, tone: 'asks' }
  return { from, to, tone: status === 'open' ? 'busy' : kind }
}
