// A crew: its graph, its prompts as declared, and a form to start a run.
import type { JSX } from 'preact'
import type { CrewTask, CrewView } from '../../api/contract.ts'
import { call } from '../api/client.ts'
import { useResource } from '../api/resource.ts'
import { mayAct } from '../api/studio-session.ts'
import { groupName } from '../../../journal/paths.ts'
import { Graph } from '../parts/graph.tsx'
import { JsonTree } from '../parts/json-tree.tsx'
import { Markdown } from '../parts/markdown.tsx'
import { Foldable, Loaded } from '../parts/states.tsx'
import { crewPath, Link, Links, navigate, currentLocation, withQuery } from '../routing/router.tsx'
import { BacktestDialog } from '../actions/backtest-dialog.tsx'
import { ScheduleList, useSchedules } from './schedule-list.tsx'
import { StartForm } from './start-form.tsx'
import '../styles/run.css'
import '../styles/crews.css'

export function CrewPage(): JSX.Element {
  const name = currentLocation.value.parts[1] ?? ''
  const resource = useResource(
    `crew ${name}`,
    (signal) => call('GET /crews/{crew}', { params: { crew: name }, signal }),
    { live: false },
  )
  return (
    <Loaded from={resource} what={`crew ${name}`}>
      {(crew) => <Crew key={name} crew={crew} />}
    </Loaded>
  )
}

function Crew({ crew }: { readonly crew: CrewView }): JSX.Element {
  const { query } = currentLocation.value
  const nested = crew.within.length > 0
  const backtested = nested ? undefined : (query.get('backtest') ?? undefined)
  const chosen = query.get('task') ?? crew.tasks[0]?.name
  const task = crew.tasks.find(({ name }) => name === chosen)
  const schedules = useSchedules(crew.name)
  const byName = new Map(crew.tasks.map((each) => [each.name, each]))
  return (
    <div class="page crew">
      <nav class="crumbs" aria-label="Breadcrumb">
        <Link to="/crews">Crews</Link>
      </nav>
      <div class="page-head">
        <h1>{crew.name}</h1>
        <span class="soft">
          {crew.flow ? 'flow' : crew.process}
          {crew.version !== '' && `, version ${crew.version}`}
          {crew.budget &&
            `, limit ${Object.entries(crew.budget)
              .map(([name, value]) => `${value} ${name}`)
              .join(', ')}`}
        </span>
        <div class="end">
          <Link to={`/runs?crew=${encodeURIComponent(crew.name)}${nested ? '&children=true' : ''}`}>
            Runs of this crew
          </Link>
        </div>
      </div>
      {crew.flow && <p class="soft">The steps of a flow are found while it runs: the page of a run has its graph.</p>}
      {!crew.flow && (
        <Graph tasks={crew.tasks} to={(name) => withQuery({ task: name })} current={chosen}>
          {(name) => {
            const own = byName.get(name)
            return (
              <>
                <strong class="clip">{name}</strong>
                <span class="graph-line faint">
                  <span class="clip">
                    {own?.type === 'agent' ? own.agent : own?.type === 'crew' ? `nested crew ${own.crew}` : 'function'}
                  </span>
                </span>
              </>
            )
          }}
        </Graph>
      )}
      {mayAct() && backtested !== undefined && (
        <BacktestDialog
          key={backtested}
          crew={crew.name}
          tasks={crew.flow ? [...new Set([backtested, groupName(backtested)])] : crew.tasks.map(({ name }) => name)}
          task={backtested}
          run={query.get('run') ?? undefined}
          id={query.get('id') ?? undefined}
          count={Number(query.get('last')) || undefined}
          onClose={() =>
            navigate(withQuery({ backtest: undefined, run: undefined, id: undefined, last: undefined }), {
              replace: true,
            })
          }
        />
      )}
      <div class="crew-columns">
        {task && <TaskCard task={task} crew={crew} />}
        <div class="crew-side">
          {nested ? (
            <section class="panel crew-part">
              <h2>Part of</h2>
              <p>
                <Links names={crew.within} to={crewPath} />
              </p>
              <p class="hint">
                This crew runs as a task there. To start its runs on their own, start the studio with a module that
                exports the crew.
              </p>
            </section>
          ) : (
            <>
              {mayAct() && <StartForm crew={crew} />}
              <section class="panel crew-part">
                <h2>Schedules</h2>
                <ScheduleList resource={schedules} />
              </section>
            </>
          )}
        </div>
      </div>
    </div>
  )
}

function TaskCard({ task, crew }: { readonly task: CrewTask; readonly crew: CrewView }): JSX.Element {
  const agent = crew.agents.find(({ role }) => role === task.agent)
  const marks = [
    task.humanInput && 'reviewed by a person',
    task.conditional && 'conditional',
    task.async && 'async',
    task.type === 'function' && 'function',
  ].filter((mark) => typeof mark === 'string')
  return (
    <section class="panel crew-part">
      <header class="card-head">
        <h2>{task.name}</h2>
        {mayAct() && crew.within.length === 0 && (
          <button
            type="button"
            class="small"
            title="Execute the current code on the inputs of earlier runs"
            onClick={() => navigate(withQuery({ backtest: task.name }))}
          >
            Backtest
          </button>
        )}
      </header>
      {marks.length > 0 && <p class="soft">{marks.join(' · ')}</p>}
      {task.description !== '' && <Markdown text={task.description} />}
      {task.expectedOutput !== undefined && <p class="soft">Expected: {task.expectedOutput}</p>}
      {task.context.length > 0 && (
        <p class="soft">
          Receives the outputs of <Links names={task.context} to={(from) => withQuery({ task: from })} replace />
        </p>
      )}
      {task.crew !== undefined && (
        <p>
          Nested crew: <Link to={crewPath(task.crew)}>{task.crew}</Link>
        </p>
      )}
      {agent && (
        <>
          <h3>{agent.role}</h3>
          <p>{agent.goal}</p>
          {agent.backstory !== undefined && <p class="soft">{agent.backstory}</p>}
          <p class="mono faint">{agent.model}</p>
        </>
      )}
      {task.tools.length > 0 && (
        <>
          <h3>Tools</h3>
          <ul class="tool-list">
            {task.tools.map((tool) => (
              <li key={tool.name}>
                <code>{tool.name}</code> <span class="status tone-quiet">{tool.effect}</span>{' '}
                {tool.approval !== undefined && (
                  <span class="status tone-asks">
                    {tool.approval === 'always' ? 'needs approval' : 'may need approval'}
                  </span>
                )}
                <p class="soft">{tool.description}</p>
              </li>
            ))}
          </ul>
        </>
      )}
      {task.guardrails.length > 0 && (
        <>
          <h3>Guardrails</h3>
          <ul>
            {task.guardrails.map((guardrail) => (
              <li key={guardrail}>{guardrail}</li>
            ))}
          </ul>
        </>
      )}
      {task.schema !== undefined && (
        <Foldable title="Output schema">
          <JsonTree value={task.schema} />
        </Foldable>
      )}
    </section>
  )
}
