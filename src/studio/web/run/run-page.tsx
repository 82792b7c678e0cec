// The page of a run: its head, open questions and tabs. Timeline and graph show the selected task or step beside them.
import type { JSX } from 'preact'
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { taskInPath, attemptsOnPath } from '../../../journal/paths.ts'
import type { RunDetail, QuestionView } from '../../api/contract.ts'
import { useChanges } from '../api/listen.ts'
import { ApiError, call } from '../api/client.ts'
import { useShortcuts } from '../keys/shortcuts.ts'
import { Graph } from '../parts/graph.tsx'
import { Empty, Failed, Loading } from '../parts/states.tsx'
import { Status, statusTone } from '../parts/status.tsx'
import {
  Link,
  navigate,
  currentLocation,
  withQuery,
  readSelection,
  selectionPath,
  questionKey,
  type Selection,
} from '../routing/router.tsx'
import { childRuns, followRun, type ChildRuns, type LiveRun } from './live-run.ts'
import { OrphansBar, RunHead } from './run-head.tsx'
import { SpendingTab, LineageTab } from './tabs.tsx'
import { TimelineView } from './timeline-view.tsx'
import { FlowSteps } from './flow-steps.tsx'
import type { StepGroup } from '../../../runs/flow-view.ts'
import type { BarTone } from './timeline-rows.ts'
import { amount } from '../../../text/words.ts'
import { useResource } from '../api/resource.ts'
import { heldAnswers, isHeld } from '../waiting/held-answers.ts'
import { QuestionDetail } from '../waiting/question-detail.tsx'
import { IconButton } from '../parts/icons.tsx'
import { TranscriptTab } from './transcript.tsx'
import { StepPanel } from './step-panel.tsx'
import { TaskPanel } from './task-panel.tsx'
import { JsonTree } from '../parts/json-tree.tsx'
import { OutputView } from '../parts/output-view.tsx'
import '../styles/run.css'

const tabs = {
  transcript: 'Conversation',
  timeline: 'Timeline',
  graph: 'Graph',
  io: 'Inputs and output',
  spending: 'Spending',
  lineage: 'Lineage',
}
type Tab = keyof typeof tabs

export function RunPage(): JSX.Element {
  const runId = currentLocation.value.parts[1] ?? ''
  const run = useMemo(() => followRun(runId), [runId])
  const inner = useMemo(() => childRuns(runId, run), [run])
  useEffect(
    () => () => {
      run.stop()
      inner.drop(runId)
    },
    [run],
  )
  useChanges(() => {
    run.refresh()
    inner.refresh()
  })
  const detail = run.detail.value
  const error = run.error.value
  if (detail) return <Run key={runId} run={run} detail={detail} inner={inner} />
  if (error === undefined) return <Loading what={`run ${runId}`} />
  if (error instanceof ApiError && error.status === 404)
    return (
      <Empty whole title={`Run ${runId} not found`}>
        It may have been deleted or be in another store. <Link to="/runs">All runs</Link>
      </Empty>
    )
  return <Failed error={error} again={() => run.refresh()} />
}

interface RunProps {
  readonly run: LiveRun
  readonly detail: RunDetail
  /** Its child runs that are open. */
  readonly inner: ChildRuns
}

function Run({ run, detail, inner }: RunProps): JSX.Element {
  const { query } = currentLocation.value
  const names = tabsOf(detail)
  const tab = readTab(query, names)
  const tabPath = (name: Tab): string => withQuery({ tab: name === names[0] ? undefined : name })
  const chosen = readSelection(detail.runId, query)
  const within = chosen && chosen.run !== detail.runId ? chosen.run : undefined
  useEffect(() => {
    if (within !== undefined) inner.follow([within])
  }, [inner, within])
  const choose = (next: Selection | undefined): void => navigate(selectionPath(next), { replace: true })
  useShortcuts('This run', [
    ...names.map((name, index) => ({
      keys: String(index + 1),
      does: tabs[name],
      run: () => navigate(tabPath(name), { replace: true }),
    })),
    { keys: 'Escape', does: 'Close the details', run: () => choose(undefined) },
  ])
  const tabBar = useRef<HTMLElement>(null)
  useEffect(() => {
    // on a phone, the tabs don't all fit
    tabBar.current?.querySelector('[aria-current]')?.scrollIntoView({ block: 'nearest', inline: 'nearest' })
  }, [tab])
  const beside = tab === 'timeline' || tab === 'graph'
  return (
    <div class="page run">
      <RunHead run={run} detail={detail} />
      {detail.orphaned.length > 0 && <OrphansBar detail={detail} />}
      {detail.questions.length > 0 && <RunQuestions detail={detail} />}
      <nav ref={tabBar} class="segments run-tabs" aria-label="Views of the run">
        {names.map((name) => (
          <Link key={name} to={tabPath(name)} replace aria-current={tab === name ? 'true' : undefined}>
            {tabs[name]}
          </Link>
        ))}
      </nav>
      <div class={`run-columns ${beside && chosen ? 'has-detail' : ''}`}>
        <div class="run-main">
          {tab === 'transcript' && <TranscriptTab run={run} detail={detail} />}
          {tab === 'timeline' &&
            (detail.flow ? (
              <FlowSteps run={run} detail={detail} chosen={chosen} />
            ) : (
              <TimelineView run={run} detail={detail} inner={inner} chosen={chosen} choose={choose} />
            ))}
          {tab === 'graph' &&
            (detail.flow ? (
              <FlowGraph detail={detail} chosen={chosen} />
            ) : (
              <TaskGraph detail={detail} chosen={chosen} />
            ))}
          {tab === 'spending' && <SpendingTab detail={detail} />}
          {tab === 'io' && <RunIo detail={detail} />}
          {tab === 'lineage' && <LineageTab runId={detail.runId} />}
        </div>
        {beside && chosen && (
          <DetailPanel
            key={`${chosen.run} ${chosen.at}`}
            run={within === undefined ? run : inner.followed.value.get(within)}
            at={chosen.at}
            close={() => choose(undefined)}
          />
        )}
      </div>
    </div>
  )
}

interface GraphProps {
  readonly detail: RunDetail
  readonly chosen: Selection | undefined
}

function TaskGraph({ detail, chosen }: GraphProps): JSX.Element {
  const { runId: run, tasks } = detail
  const byName = new Map(tasks.map((task) => [task.name, task]))
  // without the code of the crew, only the order of the tasks is known
  const nodes = tasks.map((task, index) => ({
    name: task.name,
    context: task.context ?? (index === 0 ? [] : [tasks[index - 1]?.name ?? '']),
  }))
  return (
    <>
      {!detail.code && (
        <p class="hint">Dependencies need the code of the crew, which isn’t loaded. This is the order of the tasks.</p>
      )}
      <Graph
        tasks={nodes}
        to={(name) => selectionPath({ run, at: name })}
        tone={(name) => statusTone(byName.get(name)?.status ?? 'pending')}
        current={chosen?.run === run ? taskInPath(chosen.at) : undefined}
      >
        {(name) => {
          const task = byName.get(name)
          return (
            <>
              <strong class="clip">{name}</strong>
              <span class="graph-line">
                {task && <Status status={task.status} />}
                <span class="faint clip">{task?.agent ?? (task?.child === undefined ? '' : 'nested crew')}</span>
              </span>
            </>
          )
        }}
      </Graph>
    </>
  )
}

/** Up to so many steps, the graph of a flow has a box for each of them, else for each name. */
const mostBoxes = 60

function FlowGraph(props: GraphProps): JSX.Element {
  return props.detail.total <= mostBoxes ? <StepGraph {...props} /> : <GroupGraph {...props} />
}

function StepGraph({ detail, chosen }: GraphProps): JSX.Element {
  const { runId } = detail
  const { value, error, again } = useResource(`graph of ${runId}`, (signal) =>
    call('GET /runs/{run}/tasks', { params: { run: runId }, query: { limit: mostBoxes }, signal }),
  )
  if (!value) return error === undefined ? <Loading what="the graph" /> : <Failed error={error} again={again} />
  return (
    <>
      <p class="hint">An edge leads from the step whose result came last before a step was requested.</p>
      <TaskGraph detail={{ ...detail, code: true, tasks: value.items }} chosen={chosen} />
    </>
  )
}

function GroupGraph({ detail: { steps } }: GraphProps): JSX.Element {
  const groups = new Map((steps?.groups.items ?? []).map((group) => [group.name, group]))
  return (
    <>
      <p class="hint">
        An edge leads from the steps whose result came last before a step of this name was requested. Edges back, as of
        a loop, are left out.
      </p>
      <Graph
        tasks={[...groups.values()].map(({ name, after }) => ({ name, context: after }))}
        to={() => withQuery({ tab: 'timeline' })}
        tone={(name) => groupTone(groups.get(name))}
      >
        {(name) => (
          <>
            <strong class="clip">{name}</strong>
            <span class="graph-line faint">
              {amount(groups.get(name)?.done ?? 0)} of {amount(groups.get(name)?.total ?? 0)} done
            </span>
          </>
        )}
      </Graph>
    </>
  )
}

function groupTone(group: StepGroup | undefined): BarTone {
  if (!group) return 'quiet'
  if (group.failed > 0) return 'bad'
  if (group.waiting > 0) return 'asks'
  return group.done < group.total ? 'busy' : 'good'
}

/** The transcript is the first tab of a conversation. */
function tabsOf({ chat }: RunDetail): Tab[] {
  const names = Object.keys(tabs) as Tab[]
  return chat ? names : names.filter((name) => name !== 'transcript')
}

function readTab(query: URLSearchParams, names: readonly Tab[]): Tab {
  const named = names.find((name) => name === query.get('tab'))
  // a link to a step
  return named ?? (query.has('at') ? 'timeline' : (names[0] as Tab))
}

function RunQuestions({ detail }: { readonly detail: RunDetail }): JSX.Element {
  const [open, setOpen] = useState(false)
  const answered = heldAnswers.value.filter(({ question }) => isAskedBy(question, detail.runId)).length
  const count = Math.max(0, detail.openQuestions - answered)
  const words = count === 1 ? '1 question is waiting for a person.' : `${count} questions are waiting for a person.`
  if (count === 0)
    return (
      <section class="run-questions" aria-label="Open questions">
        <div class="asks-bar">All questions are answered. The answers will be sent in a moment.</div>
      </section>
    )
  return (
    <section class="run-questions" aria-label="Open questions">
      <div class="asks-bar">
        <span>{words}</span>
        <button type="button" aria-expanded={open} onClick={() => setOpen(!open)}>
          {open ? 'Close' : 'Answer'}
        </button>
      </div>
      {open && <Questions detail={detail} />}
    </section>
  )
}

function Questions({ detail }: { readonly detail: RunDetail }): JSX.Element | null {
  const { runId, caller } = detail
  // questions are filtered by the crew of the root run, which the detail of a child run doesn't have
  const query = caller === undefined ? { crew: detail.crew } : {}
  const { value } = useResource(`questions of ${runId}`, (signal) => call('GET /questions', { query, signal }))
  const question = value?.questions.find((each) => isAskedBy(each, runId) && !isHeld(each))
  return question ? <QuestionDetail key={questionKey(question)} question={question} onAnswered={() => {}} /> : null
}

function isAskedBy({ asking }: Pick<QuestionView, 'asking'>, runId: string): boolean {
  return asking.some((each) => each.runId === runId)
}

interface DetailProps {
  /** Undefined until loaded. */
  readonly run: LiveRun | undefined
  readonly at: string
  close(): void
}

function DetailPanel({ run, at, close }: DetailProps): JSX.Element {
  const panel = useRef<HTMLElement>(null)
  useEffect(() => panel.current?.scrollTo(0, 0), [at])
  return (
    <aside ref={panel} class="detail panel" tabIndex={-1} aria-label={`Details of ${at}`}>
      <div class="detail-close">
        <IconButton label="Close" icon="close" onClick={close} />
      </div>
      <Details run={run} at={at} />
    </aside>
  )
}

function Details({ run, at }: Pick<DetailProps, 'run' | 'at'>): JSX.Element {
  const detail = run?.detail.value
  const error = run?.error.value
  if (!run || !detail)
    return error === undefined ? <Loading what="the run" /> : <Failed error={error} again={() => run?.refresh()} />
  if (attemptsOnPath(at).at(-1) !== at && at.includes('#')) return <StepPanel run={run} detail={detail} path={at} />
  return <TaskPanel run={run} detail={detail} name={taskInPath(at)} attempt={at.includes('#') ? at : undefined} />
}

function RunIo({ detail }: { readonly detail: RunDetail }): JSX.Element {
  const { inputs, raw, tasks } = detail
  const done = tasks.filter((task) => task.raw !== '')
  return (
    <div class="io">
      <section>
        <h2>Inputs</h2>
        {Object.keys(inputs).length === 0 ? <p class="soft">No inputs.</p> : <JsonTree value={inputs} />}
      </section>
      {raw !== undefined && (
        <section>
          <h2>Output</h2>
          <OutputView raw={raw} />
        </section>
      )}
      {raw === undefined && done.length === 0 && <p class="soft">No outputs yet.</p>}
      {raw === undefined &&
        done.map((task) => (
          <section key={task.name}>
            <h2>{task.name}</h2>
            <OutputView raw={task.raw} />
          </section>
        ))}
    </div>
  )
}
