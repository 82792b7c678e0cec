// The events of a run, folded into what a person sees of it. What is on record is in the order of its entries, whoever
// reads it, whenever, and from wherever. What was only heard while it was said comes after that, and is replaced by
// what is recorded. The items are cut into steps, so that a reader can forget everything since the last cut: a step is
// over when all calls that were made in it are.
import type { TreeQuestion } from '../engine/task/children.ts'
import type { RunEvent } from '../engine/follow/listeners.ts'
import { defined } from '../base/defined.ts'
import type { Entry, EntryOf, ToolOutcome } from '../journal/entries.ts'
import { attemptsOnPath, parentPath } from '../journal/paths.ts'
import { callAt as recordedCall, taskNameAt } from '../journal/state/at-path.ts'
import { applyEntry, emptyState } from '../journal/state/fold.ts'
import { askingTask } from '../journal/state/open-questions.ts'
import type { QuestionState, RunState } from '../journal/state/state.ts'
import { withoutResult, type Exposure } from './expose.ts'
import {
  isOpenCall,
  isTalk,
  type Item,
  type QuestionItem,
  type SpokenItem,
  type TaskItem,
  type ToolItem,
} from './items.ts'
import type { PartOrigin } from './message.ts'
import { replyItems } from './reply-items.ts'
import { questionData, taskData } from './view-data.ts'

export interface Narration {
  readonly state: RunState
  readonly exposure: Exposure
  /** All that is on record, in full; a reader is shown those that `isShown` has. */
  readonly items: readonly Item[]
  isShown(item: Item): boolean
  /** How many steps are over, and where the current one begins. */
  readonly steps: number
  readonly begins: number
  /** What is being said, is shown and is not on record. */
  speaking(): SpokenItem[]
  /** Gives the items that it changed. */
  hear(event: RunEvent): ReadonlySet<Item>
  /** What the runs of its tasks have asked: that is in their journals, not in this one. */
  learn(asked: readonly TreeQuestion[]): ReadonlySet<Item>
  /** Forgets what is being said: nobody will say the rest. */
  silence(): void
}

export function createNarration(run: string, exposure: Exposure): Narration {
  const state = emptyState(run)
  const items: Item[] = []
  const byKey = new Map<string, Item>()
  const questions: QuestionItem[] = []
  const spoken = new Map<string, SpokenItem[]>()
  const hidden = new Set<Item>()
  let changed = new Set<Item>()
  let steps = 0
  let begins = 0

  function add(item: Item): void {
    items.push(item)
    if (item.type === 'question') questions.push(item)
    byKey.set(itemKey(item), item)
    changed.add(item)
    if (item.type === 'tool' && !exposure.tool(item.tool)) hidden.add(item)
  }

  function isHeard({ type, origin }: SpokenItem): boolean {
    return (type === 'text' || exposure.reasoning) && isTalkShown(origin)
  }

  /** What a coworker says is part of a call. */
  function isTalkShown(origin: PartOrigin): boolean {
    const calls = attemptsOnPath(origin.path)
      .slice(1)
      .map((attempt) => callAt(attempt.slice(0, attempt.lastIndexOf('/'))))
    return exposure.talk(state, origin) && calls.every((call) => call && exposure.tool(call.tool))
  }

  function tell(item: TaskItem | QuestionItem): void {
    const known = byKey.get(itemKey(item)) as typeof item | undefined
    if (!known) return add(item)
    if (JSON.stringify(known.data) === JSON.stringify(item.data)) return
    Object.assign(known, { data: item.data })
    changed.add(known)
  }

  function callAt(path: string | undefined): ToolItem | undefined {
    return byKey.get(`tool ${path}`) as ToolItem | undefined
  }

  /** Tasks of which something may have changed: the one that an entry is about, or all of them. */
  function tellTasks(entry?: Entry): void {
    const about = entry?.path === undefined ? undefined : taskNameAt(state, entry.path)
    const open = questions.filter(({ data }) => data.status === 'open').map(({ data }) => data)
    for (const task of state.tasks.values()) {
      if (about !== undefined && task.name !== about) continue
      const isKnown = byKey.has(`task ${task.name}`)
      if (isKnown || task.status !== 'pending')
        tell({ type: 'task', key: task.name, data: taskData(state, task, open, exposure) })
    }
  }

  function* openCalls(): Generator<ToolItem> {
    for (const item of items.slice(begins)) if (isOpenCall(item)) yield item
  }

  function ask({ question, askedAt }: QuestionState): void {
    const asking = [askingTask(state, question.path)]
    const data = questionData({ question, askedAt, asking }, state, exposure)
    tell({ type: 'question', key: question.id, data })
    const call = question.kind === 'call' ? callAt(question.path) : undefined
    if (!call) return
    call.approval = { id: question.id, text: question.text }
    hidden.delete(call)
    changed.add(call)
  }

  /** Answers, and questions that nobody needs an answer to any more. */
  function settleQuestions(): void {
    for (const { key, data } of questions) {
      const asked = state.questions.get(key)
      if (!asked || data.status !== 'open' || (!asked.answer && !asked.withdrawn)) continue
      const { answer } = asked
      const status = answer ? 'answered' : 'withdrawn'
      tell({ type: 'question', key, data: { ...data, status, ...defined({ answer }) } })
      const call = callAt(asked.question.path)
      if (!asked.answer || call?.approval?.id !== key) continue
      call.approval = { ...call.approval, answer: asked.answer }
      changed.add(call)
    }
  }

  function addReply(entry: EntryOf<'model.replied'>): void {
    const path = entry.path ?? ''
    const heard = spoken.get(path) ?? []
    spoken.delete(path)
    if (isInternal(path)) return
    const origin = partOrigin(state, path)
    const reply = replyItems(entry, origin, heard)
    for (const item of reply.items) {
      const isShown = item.type === 'text' || item.type === 'reasoning' ? isHeard(item) : isTalkShown(origin)
      if (item.type !== 'tool' && !isShown) hidden.add(item)
      add(item)
    }
    for (const [key, outcome] of reply.outcomes) {
      const call = callAt(key)
      if (!call) continue
      end(call, outcome)
    }
  }

  /** Shows what is recorded about a call since its turn. */
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

  function hearEntry(entry: Entry): void {
    applyEntry(state, entry)
    const { path = '' } = entry
    const turn = state.attempts.get(parentPath(path))?.turns.at(-1)
    if (turn?.reply.seq === entry.seq) addReply(turn.reply)
    for (const asked of state.unanswered) {
      const known = byKey.get(`question ${asked.question.id}`) as QuestionItem | undefined
      if (known?.data.askedAt !== asked.askedAt) ask(asked)
    }
    updateCall(path)
    settleQuestions()
    tellTasks(entry)
    for (const open of openCalls()) {
      if (!isAbandonedAttempt(state, open.key)) continue
      open.outcome = { error: 'It was given up.' }
      changed.add(open)
    }
    if (!items.slice(begins).some(isTalk) || !openCalls().next().done) return
    begins = items.length
    steps += 1
  }

  function hearDelta(event: Exclude<RunEvent, Entry>): void {
    const { path } = event
    if (event.type === 'text.reset') return void spoken.delete(path)
    if (isInternal(path)) return
    const said = spoken.get(path) ?? []
    spoken.set(path, said)
    const type = event.type === 'text.delta' ? 'text' : 'reasoning'
    const last = said.at(-1)
    if (last?.type === type) last.text += event.text
    else {
      const key = `${path}:${said.length}`
      const item: SpokenItem = { type, key, origin: partOrigin(state, path), text: event.text, done: false }
      if (!isHeard(item)) hidden.add(item)
      said.push(item)
    }
  }

  return {
    state,
    exposure,
    items,
    get steps() {
      return steps
    },
    get begins() {
      return begins
    },
    isShown: (item) => !hidden.has(item),
    speaking: () => [...spoken.values()].flat().filter((item) => !hidden.has(item)),
    hear(event) {
      changed = new Set()
      if ('seq' in event) hearEntry(event)
      else hearDelta(event)
      return changed
    },
    learn(asked) {
      changed = new Set()
      for (const { askedAt, asking, answer, withdrawn, attempt: _, ...question } of asked)
        tell({
          type: 'question',
          key: question.id,
          data: questionData({ question, askedAt, asking, answer, withdrawn }, state, exposure),
        })
      tellTasks()
      return changed
    },
    silence: () => spoken.clear(),
  }
}

function itemKey({ type, key }: Item): string {
  return `${type} ${key}`
}

/** Why the run failed, as a reader is told. */
export function failureText({ state, exposure }: Narration): string {
  return (exposure.errors ? state.error?.message : undefined) ?? `run ${state.run} failed`
}

/** Whose words a path is about: those of a task's agent, of a coworker, or of work inside a step. */
function partOrigin(state: RunState, path: string): PartOrigin {
  const agent = state.attempts.get(attemptsOnPath(path).at(-1) ?? '')?.agent
  return { task: taskNameAt(state, path), path, ...defined({ agent: agent === '' ? undefined : agent }) }
}

/**
 * Whether it is said inside a step: a judge's verdict on an answer, a summary of the conversation. What a coworker says
 * is part of a call (`note#1/3.0/analyst#1`), and is shown.
 */
function isInternal(path: string): boolean {
  return attemptsOnPath(path)
    .slice(1)
    .some((attempt) => !/\/\d+\.\d+\/[^/]+$/.test(attempt))
}

/** Whether one of the attempts that a path is part of was given up. */
function isAbandonedAttempt(state: RunState, path: string): boolean {
  if (state.status === 'cancelled') return true
  return attemptsOnPath(path).some((attempt) => ['void', 'failed'].includes(state.attempts.get(attempt)?.status ?? ''))
}
