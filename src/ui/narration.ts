// Folds the events of a run into what a person sees of it: items. Recorded items are in the order of their entries, for
// every reader. Text that isn't recorded yet comes after them, and is replaced by the recorded items. The items are
// divided into steps, so that a reader can drop the current step: a step is finished when all of its calls are.
//
// A child run has a narration of its own, of which only texts are shown. Its journal has other numbers, so its texts
// count as not recorded until its attempt has ended or the run rests: that entry adds them to the items.
import type { TreeQuestion } from '../engine/task/children.ts'
import type { ChildEntry } from '../read/follow.ts'
import type { RunEvent } from '../read/listeners.ts'
import { defined } from '../base/options.ts'
import type { Entry, EntryOf, ToolOutcome } from '../journal/entries.ts'
import { attemptsOnPath, parentPath } from '../journal/paths.ts'
import { callAt as recordedCall, taskNameAt } from '../journal/state/at-path.ts'
import { applyEntry, emptyState } from '../journal/state/fold.ts'
import { statusAfter } from '../journal/table/entry-table.ts'
import { askingTask } from '../journal/state/open-questions.ts'
import type { QuestionState, RunState } from '../journal/state/state.ts'
import { createChildNarration, type ChildNarration } from './child-narration.ts'
import { withoutResult, type Exposure } from './expose.ts'
import {
  isOpenCall,
  belongsToStep,
  type Item,
  type QuestionItem,
  type TextItem,
  type TaskItem,
  type ToolItem,
  replyItems,
} from './items.ts'
import type { PartOrigin } from './message.ts'
import { questionData, taskData } from './view-data.ts'

export interface Narration {
  readonly state: RunState
  readonly exposure: Exposure
  /** Set if only this step of a flow is narrated: a turn of a conversation. */
  readonly step: string | undefined
  /** All recorded items. Readers see those for which `isShown` is true. */
  readonly items: readonly Item[]
  isShown(item: Item): boolean
  /** Number of finished steps. */
  readonly steps: number
  /** Index of the first item of the current step. */
  readonly stepStart: number
  /** Shown text that isn't recorded yet, or only in child runs. */
  unrecorded(): TextItem[]
  /** Returns the changed items. */
  addEvent(event: RunEvent | ChildEntry): ReadonlySet<Item>
  /** Adds the questions of child runs, which are in their journals. Returns the changed items. */
  addChildQuestions(asked: readonly TreeQuestion[]): ReadonlySet<Item>
  /** Drops unrecorded text: the rest of it will never come. */
  dropUnrecorded(): void
}

/** Whether to read the child runs of a task for a narration. */
export function narratedChildren(exposure: Exposure, step?: string): (task: string) => boolean {
  return (task) => (step === undefined || task === step) && exposure.child(task) !== undefined
}

export function createNarration(run: string, exposure: Exposure, step?: string): Narration {
  const state = emptyState(run)
  const items: Item[] = []
  const byKey = new Map<string, Item>()
  const questions: QuestionItem[] = []
  const streaming = new Map<string, TextItem[]>()
  /** Child runs, by the attempts that created them. */
  const children = new Map<string, ChildNarration>()
  const hidden = new Set<Item>()
  let changed = new Set<Item>()
  let steps = 0
  let stepStart = 0

  function add(item: Item): void {
    items.push(item)
    if (item.type === 'question') questions.push(item)
    byKey.set(itemKey(item), item)
    changed.add(item)
    if (item.type === 'tool' && !exposure.tool(item.tool)) hidden.add(item)
  }

  const isNarrated = (task: string): boolean => step === undefined || task === step
  const followsChildren = narratedChildren(exposure, step)

  function isStreamShown({ type, origin }: TextItem): boolean {
    return (type === 'text' || exposure.reasoning) && isTextShown(origin)
  }

  /** Whether texts of this origin are shown. A coworker's text also needs every call around it to be shown. */
  function isTextShown(origin: PartOrigin): boolean {
    const calls = attemptsOnPath(origin.path)
      .slice(1)
      .map((attempt) => callAt(attempt.slice(0, attempt.lastIndexOf('/'))))
    return exposure.text(state, origin) && calls.every((call) => call && exposure.tool(call.tool))
  }

  function putData(item: TaskItem | QuestionItem): void {
    const known = byKey.get(itemKey(item)) as typeof item | undefined
    if (!known) return add(item)
    if (JSON.stringify(known.data) === JSON.stringify(item.data)) return
    Object.assign(known, { data: item.data })
    changed.add(known)
  }

  function callAt(path: string | undefined): ToolItem | undefined {
    return byKey.get(`tool ${path}`) as ToolItem | undefined
  }

  /** Updates the task of an entry, or all tasks. */
  function updateTasks(entry?: Entry): void {
    // the reader of a conversation sees its messages
    if (step !== undefined) return
    const taskName = entry?.path === undefined ? undefined : taskNameAt(state, entry.path)
    const open = questions.filter(({ data }) => data.status === 'open').map(({ data }) => data)
    for (const task of state.tasks.values()) {
      if (taskName !== undefined && task.name !== taskName) continue
      const isKnown = byKey.has(`task ${task.name}`)
      if (isKnown || task.status !== 'pending')
        putData({ type: 'task', key: task.name, data: taskData(state, task, open, exposure) })
    }
  }

  function* openCalls(): Generator<ToolItem> {
    for (const item of items.slice(stepStart)) if (isOpenCall(item)) yield item
  }

  function addQuestion({ question, askedAt }: QuestionState): void {
    const asking = [askingTask(state, question.path)]
    if (!asking.some(({ task }) => isNarrated(task))) return
    const data = questionData({ question, askedAt, asking }, state, exposure)
    putData({ type: 'question', key: question.id, data })
    const call = question.kind === 'call' ? callAt(question.path) : undefined
    if (!call) return
    call.approval = { id: question.id, text: question.text }
    hidden.delete(call)
    changed.add(call)
  }

  /** Updates questions that were answered or withdrawn. */
  function updateQuestions(): void {
    for (const { key, data } of questions) {
      const asked = state.questions.get(key)
      if (!asked || data.status !== 'open' || (!asked.answer && !asked.withdrawn)) continue
      const { answer } = asked
      const status = answer ? 'answered' : 'withdrawn'
      putData({ type: 'question', key, data: { ...data, status, ...defined({ answer }) } })
      const call = callAt(asked.question.path)
      if (!asked.answer || call?.approval?.id !== key) continue
      call.approval = { ...call.approval, answer: asked.answer }
      changed.add(call)
    }
  }

  function addReply(entry: EntryOf<'model.replied'>): void {
    const path = entry.path ?? ''
    const streamed = streaming.get(path) ?? []
    streaming.delete(path)
    const origin = partOrigin(state, path)
    if (isInternal(path) || !isNarrated(origin.task)) return
    const reply = replyItems(entry, origin, streamed)
    for (const item of reply.items) {
      const isShown = item.type === 'text' || item.type === 'reasoning' ? isStreamShown(item) : isTextShown(origin)
      if (item.type !== 'tool' && !isShown) hidden.add(item)
      add(item)
    }
    for (const [key, outcome] of reply.outcomes) {
      const call = callAt(key)
      if (call) end(call, outcome)
    }
  }

  /** Adds the answer of a crew, unless a model of its child run has said just that. */
  function addChildAnswer(path: string): void {
    const { child, task = '' } = state.attempts.get(path) ?? {}
    if (child === undefined || !isNarrated(task)) return
    const text = state.tasks.get(task)?.output?.raw ?? ''
    const isSaid = items.some(
      (item) => item.type === 'text' && item.origin.path.startsWith(`${path}/`) && item.text === text,
    )
    if (!isSaid) add({ type: 'text', key: `${path}:0`, origin: partOrigin(state, path), text, done: true })
  }

  /** Adds the texts of child runs that are over, or rest with the run, as of this entry. */
  function addChildTexts(entry: Entry): void {
    const status = statusAfter(entry)
    const rests = status !== undefined && status !== 'running'
    for (const [path, child] of children) {
      const attempt = state.attempts.get(path)
      const hasEnded = attempt?.status !== 'open' && child.isOpen
      child.isOpen = attempt?.status === 'open'
      if (hasEnded || rests) for (const item of child.take(entry.token)) add(item)
      // a failed child run may continue
      if (hasEnded && attempt?.status !== 'failed') children.delete(path)
    }
  }

  /** The child run in which an event happened, and the path within it. */
  function childAt(path: string): readonly [child: ChildNarration, path: string] | undefined {
    for (const attempt of attemptsOnPath(path)) {
      const child = children.get(attempt)
      if (child) return [child, path.slice(attempt.length + 1)]
    }
    return undefined
  }

  /** Updates a call with what was recorded after its model call: a changed input, an outcome. */
  function updateCall(path: string): void {
    const item = callAt(path)
    const call = item && recordedCall(state, path)
    if (!call) return
    if (call.input !== undefined && call.input !== item.input) {
      item.input = call.input
      changed.add(item)
    }
    if (call.outcome && !item.outcome) end(item, call.outcome)
  }

  function end(call: ToolItem, outcome: ToolOutcome): void {
    call.outcome = exposure.tool(call.tool) ? outcome : withoutResult(outcome)
    changed.add(call)
  }

  function addEntry(entry: Entry): void {
    applyEntry(state, entry)
    const { path = '' } = entry
    const started = state.attempts.get(path)
    if (
      started?.child !== undefined &&
      !children.has(path) &&
      entry.type === 'task.started' &&
      followsChildren(started.task)
    )
      children.set(
        path,
        createChildNarration(started, createNarration(started.child, exposure.child(started.task) as Exposure)),
      )
    addChildTexts(entry)
    const turn = state.attempts.get(parentPath(path))?.turns.at(-1)
    if (turn?.reply.seq === entry.seq) addReply(turn.reply)
    if (step !== undefined && entry.type === 'task.completed') addChildAnswer(path)
    for (const asked of state.unanswered) {
      const known = byKey.get(`question ${asked.question.id}`) as QuestionItem | undefined
      if (known?.data.askedAt !== asked.askedAt) addQuestion(asked)
    }
    updateCall(path)
    updateQuestions()
    updateTasks(entry)
    for (const open of openCalls()) {
      if (!isAbandonedAttempt(state, open.key)) continue
      open.outcome = { error: 'The call was abandoned.' }
      changed.add(open)
    }
    if (!items.slice(stepStart).some(belongsToStep) || !openCalls().next().done) return
    stepStart = items.length
    steps += 1
  }

  function addChildEntry({ path, entry }: ChildEntry): void {
    const [child, within] = childAt(path) ?? []
    child?.add(within === undefined || within === '' ? entry : { type: 'child.entry', path: within, entry })
  }

  function addDelta(event: Exclude<RunEvent, Entry>): void {
    const { path } = event
    const [child, within = ''] = childAt(path) ?? []
    if (child) return child.add({ ...event, path: within })
    if (attemptsOnPath(path).some((attempt) => state.attempts.get(attempt)?.child !== undefined)) return
    if (event.type === 'text.reset') return void streaming.delete(path)
    if (event.type === 'text.end') return
    if (isInternal(path) || !isNarrated(partOrigin(state, path).task)) return
    const texts = streaming.get(path) ?? []
    streaming.set(path, texts)
    const type = event.type === 'text.delta' ? 'text' : 'reasoning'
    const last = texts.at(-1)
    if (last?.type === type) last.text += event.text
    else {
      const key = `${path}:${texts.length}`
      const item: TextItem = { type, key, origin: partOrigin(state, path), text: event.text, done: false }
      if (!isStreamShown(item)) hidden.add(item)
      texts.push(item)
    }
  }

  return {
    state,
    exposure,
    step,
    items,
    get steps() {
      return steps
    },
    get stepStart() {
      return stepStart
    },
    isShown: (item) => !hidden.has(item),
    unrecorded() {
      const own = [...streaming.values()].flat().filter((item) => !hidden.has(item))
      return [...children.values().flatMap((child) => child.texts()), ...own]
    },
    addEvent(event) {
      changed = new Set()
      if (event.type === 'child.entry') addChildEntry(event)
      else if ('seq' in event) addEntry(event)
      else addDelta(event)
      return changed
    },
    addChildQuestions(asked) {
      changed = new Set()
      for (const { askedAt, asking, answer, withdrawn, attempt: _, ...question } of asked)
        if (isNarrated(asking[0]?.task ?? ''))
          putData({
            type: 'question',
            key: question.id,
            data: questionData({ question, askedAt, asking, answer, withdrawn }, state, exposure),
          })
      updateTasks()
      return changed
    },
    dropUnrecorded() {
      streaming.clear()
      for (const child of children.values()) child.dropUnrecorded()
    },
  }
}

function itemKey({ type, key }: Item): string {
  return `${type} ${key}`
}

/** The error message of the run, or a general one if errors aren't exposed. */
export function failureText({ state, exposure, step }: Narration): string {
  if (step !== undefined) {
    const error = state.tasks.get(step)?.error ?? state.error
    return (exposure.errors ? error?.message : undefined) ?? 'the message could not be answered'
  }
  return (exposure.errors ? state.error?.message : undefined) ?? `run ${state.run} failed`
}

/** The origin of a text or call: the task, and the agent or coworker whose attempt is at the path. */
function partOrigin(state: RunState, path: string): PartOrigin {
  const agent = state.attempts.get(attemptsOnPath(path).at(-1) ?? '')?.agent
  return { task: taskNameAt(state, path), path, ...defined({ agent: agent === '' ? undefined : agent }) }
}

/**
 * Whether the path is that of internal work, such as a judge's verdict or a summary of the conversation. A coworker's
 * work is not internal, since it is part of a call (`note#1/3.0/analyst#1`).
 */
function isInternal(path: string): boolean {
  return attemptsOnPath(path)
    .slice(1)
    .some((attempt) => !/\/\d+\.\d+\/[^/]+$/.test(attempt))
}

/** Whether an attempt on a path was given up or failed, or the whole run was cancelled. */
function isAbandonedAttempt(state: RunState, path: string): boolean {
  if (state.status === 'cancelled') return true
  return attemptsOnPath(path).some((attempt) => ['void', 'failed'].includes(state.attempts.get(attempt)?.status ?? ''))
}
