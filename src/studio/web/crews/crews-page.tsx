// The loaded crews, their schedules, and the queue and workers of the store.
import type { JSX } from 'preact'
import type { CrewView, QueueView } from '../../api/contract.ts'
import { plural } from '../../../text/words.ts'
import { call } from '../api/client.ts'
import { useResource } from '../api/resource.ts'
import { Empty, Loaded } from '../parts/states.tsx'
import { crewPath, Link, runPath, shortId } from '../routing/router.tsx'
import { ScheduleList, useSchedules } from './schedule-list.tsx'
import '../styles/crews.css'

export function CrewsPage(): JSX.Element {
  const crews = useResource('crews', (signal) => call('GET /crews', { signal }), { live: false })
  const schedules = useSchedules()
  const queue = useResource('queue', (signal) => call('GET /queue', { signal }))
  return (
    <div class="page crews">
      <div class="page-head">
        <h1>Crews</h1>
      </div>
      <Loaded from={crews} what="crews">
        {({ crews: loaded }) => <CrewList crews={loaded} />}
      </Loaded>
      {(schedules.error !== undefined || hasAny(schedules.value)) && (
        <>
          <h2 class="section-title">Schedules</h2>
          <div class="panel crew-part">
            <ScheduleList resource={schedules} crews />
          </div>
        </>
      )}
      <h2 class="section-title">Queue and workers</h2>
      <Loaded from={queue} what="the queue">
        {(value) => <Queue queue={value} />}
      </Loaded>
    </div>
  )
}

function hasAny(value: ReturnType<typeof useSchedules>['value']): boolean {
  return value !== undefined && value.schedules.length + value.added.length > 0
}

function CrewList({ crews }: { readonly crews: readonly CrewView[] }): JSX.Element {
  if (crews.length === 0)
    return (
      <Empty title="No crews loaded">
        You can view and cancel runs and answer their questions; workers continue the runs. To start, replay and fork
        runs, start the studio with the modules of your crews: <code>npx reprise studio crew.ts</code>
      </Empty>
    )
  return (
    <ul class="crew-list">
      {crews.map((crew) => (
        <li key={crew.name}>
          <Link to={crewPath(crew.name)} class="panel card crew-card">
            <strong>{crew.name}</strong>
            <span class="soft">{crew.flow ? 'flow' : `${plural(crew.tasks.length, 'task')}, ${crew.process}`}</span>
            <span class="crew-tasks faint clip">
              {crew.tasks.map(({ name }) => name).join(crew.process === 'sequential' ? ' → ' : ', ')}
            </span>
          </Link>
        </li>
      ))}
    </ul>
  )
}

function Queue({ queue }: { readonly queue: QueueView }): JSX.Element {
  const { crews, workers, cut: isIncomplete } = queue
  const columns = ['queued', 'running', 'suspended', 'failed', 'abandoned'] as const
  return (
    <div class="queue">
      {crews.length === 0 ? (
        <p class="soft">No runs are queued, running, waiting or failed.</p>
      ) : (
        <div class="table-scroll" tabIndex={0} role="group" aria-label="Queue by crew">
          <table class="wide-table">
            <thead>
              <tr>
                <th>Crew</th>
                {columns.map((name) => (
                  <th key={name} class="number">
                    {name === 'suspended' ? 'waiting, sleeping or stopped' : name}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {crews.map((row) => (
                <tr key={row.crew}>
                  <td>{row.crew}</td>
                  {columns.map((name) => (
                    <td key={name} class="number">
                      {row[name] === 0 ? (
                        <span class="faint">0</span>
                      ) : (
                        <Link to={`/runs?crew=${encodeURIComponent(row.crew)}&status=${columnStatus(name)}`}>
                          {row[name]}
                        </Link>
                      )}
                      {name === 'queued' && row.queued > row.due && <span class="faint"> ({row.due} due)</span>}
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      {isIncomplete && <p class="hint">Only the latest 5,000 runs are counted.</p>}
      <h3>Active processes</h3>
      {workers.length === 0 ? (
        <p class="soft">
          No process is executing a run. Idle workers aren’t shown. To start a worker: <code>npx reprise worker</code>
        </p>
      ) : (
        <ul class="workers">
          {workers.map((worker) => (
            <li key={`${worker.host} ${worker.pid}`} class="panel">
              <strong>{worker.name ?? `process ${worker.pid}`}</strong> <span class="soft">on {worker.host}</span>
              <p>
                {worker.runs.slice(0, 8).map((run) => (
                  <Link key={run} to={runPath(run)} class="mono worker-run">
                    {shortId(run)}
                  </Link>
                ))}
                {worker.runs.length > 8 && <span class="faint">and {worker.runs.length - 8} more</span>}
              </p>
            </li>
          ))}
        </ul>
      )}
    </div>
  )
}

function columnStatus(column: 'queued' | 'running' | 'suspended' | 'failed' | 'abandoned'): string {
  return column === 'suspended' ? 'waiting,sleeping,stopped' : column
}
