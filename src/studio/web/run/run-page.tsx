// One run: how it stands, what can be done with it, and what happened in it, with the chosen task or step beside it.
import { useSignalEffect } from '@preact/signals'
import type { JSX } from 'preact'
import { useEffect, useMemo, useRef } from 'preact/hooks'
import { taskInPath } from '../../../journal/paths.ts'
import type { RunDetail } from '../../api/contract.ts'
import { changes } from '../api/changes.ts'
import { ApiError } from '../api/client.ts'
import { useShortcuts } from '../keys/shortcuts.ts'
import { Graph } from '../parts/graph.tsx'
import { Empty, Failed, Loading } from '../parts/states.tsx'
import { Status, statusTone } from '../parts/status.tsx'
import { Link } from '../routing/link.tsx'
import { navigate, currentLocation, withQuery } from '../routing/router.ts'
import { childRuns, type ChildRuns } from './child-runs.ts'
import { readSelection, selectionPath, type Selection } from './selection.ts'
import { OrphansBar } from './orphans-bar.tsx'
import { RunQuestions } from './run-questions.tsx'
import { DetailPanel } from './detail-panel.tsx'
import { followRun, type LiveRun } from './live-run.ts'
import { RunHead } from './run-head.tsx'
import { SpendingTab } from './spending-tab.tsx'
import { TimelineView } from './timeline-view.tsx'
import { LineageTab } from './lineage-tab.tsx'
import { RunIo } from './run-io.tsx'
import '../styles/run.css'

const tabs = { timeline: 'Timeline', graph: 'Graph', io: 'Inputs and output', spending: 'Spending', lineage: 'Lineage' }
type Tab = keyof typeof tabs

export function RunPage(): JSX.Element {
  const runId = currentLocation.value.parts[1] ?? ''
  const run = useMemo(() => followRun(runId), [runId])
  const inner = useMemo(() => childRuns(), [runId])
  useEffect(
    () => () => {
      run.stop()
      inner.drop(runId)
    },
    [run],
  )
  const seen = useRef(changes.peek())
  useSignalEffect(() => {
    if (changes.value === seen.current) return
    seen.current = changes.value
    run.refresh()
    inner.refresh()
  })
  const detail = run.detail.value
  const error = run.error.value
  if (detail) return <Run key={runId} run={run} detail={detail} inner={inner} />
  if (error === undefined) return <Loading what={`run ${runId}`} />
  if (error instanceof ApiError && error.status === 404)
    return (
      <Empty whole title={`There is no run ${runId}`}>
        It may have been deleted, or it is in another store. <Link to="/runs">See the runs</Link>
      </Empty>
    )
  return <Failed error={error} again={() => run.refresh()} />
}

interface RunProps {
  readonly run: LiveRun
  readonly detail: RunDetail
  /** The runs of its crews that are shown, too. */
  readonly inner: ChildRuns
}

function Run({ run, detail, inner }: RunProps): JSX.Element {
  const { query } = currentLocation.value
  const tab = readTab(query.get('tab'))
  const chosen = readSelection(detail.runId, query)
  const within = chosen && chosen.run !== detail.runId ? chosen.run : undefined
  useEffect(() => {
    if (within !== undefined) inner.follow([within])
  }, [inner, within])
  const choose = (next: Selection | undefined): void => navigate(selectionPath(next), { replace: true })
  const names = Object.keys(tabs) as Tab[]
  useShortcuts('This run', [
    ...names.map((name, index) => ({
      keys: String(index + 1),
      does: tabs[name],
      run: () => navigate(withQuery({ tab: name === 'timeline' ? undefined : name }), { replace: true }),
    })),
    { keys: 'Escape', does: 'Close what is open beside it', run: () => choose(undefined) },
  ])
  const tabBar = useRef<HTMLElement>(null)
  useEffect(() => {
    // on a phone, they don't all fit
    tabBar.current?.querySelector('[aria-current]')?.scrollIntoView({ block: 'nearest', inline: 'nearest' })
  }, [tab])
  const beside = tab === 'timeline' || tab === 'graph'
  return (
    <div class="page run">
      <RunHead run={run} detail={detail} />
      {detail.orphaned.length > 0 && <OrphansBar detail={detail} />}
      {detail.questions.length > 0 && <RunQuestions detail={detail} />}
      <nav ref={tabBar} class="segments run-tabs" aria-label="Parts of the run">
        {names.map((name) => (
          <Link
            key={name}
            to={withQuery({ tab: name === 'timeline' ? undefined : name })}
            replace
            aria-current={tab === name ? 'true' : undefined}
          >
            {tabs[name]}
          </Link>
        ))}
      </nav>
      <div class={`run-columns ${beside && chosen ? 'has-detail' : ''}`}>
        <div class="run-main">
          {tab === 'timeline' && (
            <TimelineView run={run} detail={detail} inner={inner} chosen={chosen} choose={choose} />
          )}
          {tab === 'graph' && <TaskGraph detail={detail} chosen={chosen} />}
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
  // without the code, only their order is known
  const nodes = tasks.map((task, index) => ({
    name: task.name,
    context: task.context ?? (index === 0 ? [] : [tasks[index - 1]?.name ?? '']),
  }))
  return (
    <>
      {!detail.code && (
        <p class="hint">
          What each task is given is in the crew’s code, which isn’t at hand here: this is their order.
        </p>
      )}
      <Graph
        tasks={nodes}
        to={(name) => selectionPath({ run, at: name })}
        tone={(name) => `edge-${statusTone(byName.get(name)?.status ?? 'pending')}`}
        current={chosen?.run === run ? taskInPath(chosen.at) : undefined}
      >
        {(name) => {
          const task = byName.get(name)
          return (
            <>
              <strong class="clip">{name}</strong>
              <span class="graph-line">
                {task && <Status status={task.status} />}
                <span class="faint clip">{task?.agent ?? (task?.child === undefined ? '' : 'a crew')}</span>
              </span>
            </>
          )
        }}
      </Graph>
    </>
  )
}

function readTab(name: string | null): Tab {
  return name !== null && Object.hasOwn(tabs, name) ? (name as Tab) : 'timeline'
}
