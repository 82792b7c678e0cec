// One run: how it stands, what can be done with it, and what happened in it, with the chosen task or step beside it.
import { useSignalEffect } from '@preact/signals'
import type { JSX } from 'preact'
import { useEffect, useMemo, useRef } from 'preact/hooks'
import { taskOf } from '../../../journal/paths.ts'
import type { RunDetail } from '../../api/contract.ts'
import { changes } from '../api/changes.ts'
import { ApiError } from '../api/client.ts'
import { useShortcuts } from '../keys/shortcuts.ts'
import { Graph } from '../parts/graph.tsx'
import { Empty, Failed, Loading } from '../parts/states.tsx'
import { Status, toneOf } from '../parts/status.tsx'
import { Link } from '../routing/link.tsx'
import { navigate, place, withQuery } from '../routing/router.ts'
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
  const runId = place.value.parts[1] ?? ''
  const run = useMemo(() => followRun(runId), [runId])
  useEffect(() => () => run.stop(), [run])
  const seen = useRef(changes.peek())
  useSignalEffect(() => {
    if (changes.value === seen.current) return
    seen.current = changes.value
    run.refresh()
  })
  const detail = run.detail.value
  const error = run.error.value
  if (detail) return <Run key={runId} run={run} detail={detail} />
  if (error === undefined) return <Loading what={`run ${runId}`} />
  if (error instanceof ApiError && error.status === 404)
    return (
      <Empty whole title={`There is no run ${runId}`}>
        It may have been deleted, or it is in another store. <Link to="/runs">See the runs</Link>
      </Empty>
    )
  return <Failed error={error} again={() => run.refresh()} />
}

function Run({ run, detail }: { readonly run: LiveRun; readonly detail: RunDetail }): JSX.Element {
  const { query } = place.value
  const tab = tabOf(query.get('tab'))
  const at = query.get('at') ?? undefined
  const choose = (next: string | undefined): void => navigate(withQuery({ at: next }), { replace: true })
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
      <div class={`run-columns ${beside && at !== undefined ? 'has-detail' : ''}`}>
        <div class="run-main">
          {tab === 'timeline' && <TimelineView run={run} detail={detail} at={at} choose={choose} />}
          {tab === 'graph' && <TaskGraph detail={detail} at={at} />}
          {tab === 'spending' && <SpendingTab detail={detail} />}
          {tab === 'io' && <RunIo detail={detail} />}
          {tab === 'lineage' && <LineageTab runId={detail.runId} />}
        </div>
        {beside && at !== undefined && (
          <DetailPanel key={at} run={run} detail={detail} at={at} close={() => choose(undefined)} />
        )}
      </div>
    </div>
  )
}

function TaskGraph({ detail, at }: { readonly detail: RunDetail; readonly at: string | undefined }): JSX.Element {
  const { tasks } = detail
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
        to={(name) => withQuery({ at: name })}
        tone={(name) => `edge-${toneOf(byName.get(name)?.status ?? 'pending')}`}
        current={at === undefined ? undefined : taskOf(at)}
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

function tabOf(name: string | null): Tab {
  return name !== null && Object.hasOwn(tabs, name) ? (name as Tab) : 'timeline'
}
