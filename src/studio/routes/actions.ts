// Starting, continuing, ending and making runs, each with its plan. With the crew's code, this process executes them or
// puts them into the queue; without it, a run can be ended, or left to a worker again.
import type { Crew } from '../../crew/crew.ts'
import type { Plan } from '../../crew/result/plan.ts'
import type { RunPromise } from '../../crew/run.ts'
import { wakeRun } from '../../crew/queue/wake-run.ts'
import { defined } from '../../base/defined.ts'
import { moveOf, runMoved } from '../../engine/read/moved.ts'
import { readSummary } from '../../engine/read/row-summary.ts'
import { requeue } from '../../engine/inbox/requeue.ts'
import { sendMessage } from '../../engine/inbox/send-message.ts'
import type { PlanBody, PlanView, StartedRun } from '../api/contract.ts'
import { StudioProblem } from '../api/problem.ts'
import { oneOf, record, text, texts, whole, anything, type Fields, type Routes } from '../api/route.ts'
import { crewOfRun, findCrew } from '../known-crew.ts'
import { readRow, type StudioContext } from '../context.ts'

const kickoff: Fields = {
  inputs: record('by name'),
  through: text('stop after this task'),
  reuse: anything('true, or { maxAgeSeconds }: take outputs that any run of the crew has made from the same'),
}
const made: Fields = {
  id: text('your own id for the new run'),
  inputs: record("merged over the run's own"),
  effects: oneOf('the once calls that the run made', 'reuse', 'again', 'ask'),
  through: text('stop after this task'),
}
const only = oneOf('execute just what depends on the task', 'descendants')
const stale = oneOf('restored outputs that were made from something else', 'keep', 'rerun', 'refuse')
const resumed: Fields = {
  how: oneOf('by this process, or by a worker', 'here', 'queue'),
  changed: oneOf('a started task whose code has changed', 'restart', 'continue', 'refuse'),
  renamed: record('new names of tasks with recorded work, by their old ones'),
  removed: texts('tasks with recorded work that are given up'),
  through: text('stop after this task'),
  budget: record('{ tokens, cost, seconds } in place of the one that it has used up'),
  by: text('who asks for it'),
}
const replayed: Fields = { ...made, task: text('the task from which on it is executed'), only, stale }
const forked: Fields = {
  ...made,
  from: text('the task from which on it is executed'),
  only,
  stale,
  outputs: record('by task: a value in place of its output'),
  by: text('who gives these outputs'),
}

export const actingRoutes: Routes<
  | 'POST /crews/{crew}/plan'
  | 'POST /runs/{run}/plan'
  | 'POST /crews/{crew}/runs'
  | 'POST /runs/{run}/resume'
  | 'POST /runs/{run}/replay'
  | 'POST /runs/{run}/fork'
  | 'POST /runs/{run}/refresh'
  | 'POST /runs/{run}/cancel'
> = {
  'POST /crews/{crew}/plan': {
    summary: 'What a kickoff would execute and may cost; nothing is written or spent',
    role: 'act',
    body: { fields: kickoff },
    handle: async ({ place, at, body }) =>
      planView(await anyCrew(findCrew(place, at('crew')).crew).plan({ of: 'kickoff', ...body })),
  },
  'POST /runs/{run}/plan': {
    summary: 'What continuing a run, or making one from it, would execute and may cost; nothing is written or spent',
    role: 'act',
    body: {
      fields: {
        of: oneOf('what is planned', 'resume', 'replay', 'fork', 'refresh'),
        ...resumed,
        ...replayed,
        ...forked,
      },
      required: ['of'],
    },
    async handle({ place, at, body }) {
      const crew = await crewAt(place, at('run'))
      return planView(await crew.run(at('run')).plan(planRequest(body)))
    },
  },
  'POST /crews/{crew}/runs': {
    summary: 'Start a run, here or by a worker',
    role: 'act',
    body: {
      fields: {
        ...kickoff,
        id: text('your own id: of a run that is there, it is continued, or given as it is'),
        how: oneOf('executed by this process, or put into the queue', 'here', 'queue'),
        priority: oneOf('of a queued one', 'low', 'normal', 'high'),
        delay: whole('of a queued one: seconds before which no worker begins it', 0),
      },
      required: ['how'],
    },
    async handle({ place, at, body }) {
      const crew = anyCrew(findCrew(place, at('crew')).crew)
      const { how, ...options } = body
      if (how === 'queue') return { runId: (await crew.enqueue(options)).id, how }
      return startHere(place, crew, crew.kickoff({ ...options, signal: place.signal }))
    },
  },
  'POST /runs/{run}/resume': {
    summary: 'Continue a run after its last recorded step, here or by a worker',
    role: 'act',
    body: { fields: resumed },
    async handle({ place, at, body, by }) {
      const row = await readRow(place, at('run'))
      const { crew: name } = row
      const move = moveOf(readSummary(row))
      // a queue for workers would take it back, while it continues in the other store
      if (move) throw runMoved(row.run, move)
      const { how, by: _, ...options } = body
      const known = place.crews.get(name)
      if (how !== 'queue' && known) {
        const crew = anyCrew(known.crew)
        return startHere(place, crew, crew.run(at('run')).resume({ ...options, signal: place.signal }))
      }
      if (how === 'here') findCrew(place, name)
      refuseOptions(options)
      const runId = await requeue(place.engine, at('run'), defined({ by }))
      if (known) await wakeRun(known.open, runId)
      return { runId, how: 'queue' }
    },
  },
  'POST /runs/{run}/replay': {
    summary: 'A new run: what comes before a task is restored, the task and all after it is executed',
    role: 'act',
    body: { fields: replayed, required: ['task'] },
    async handle({ place, at, body }) {
      const { task, ...options } = body
      const crew = await crewAt(place, at('run'))
      return startHere(place, crew, crew.run(at('run')).replay(task, { ...options, signal: place.signal }))
    },
  },
  'POST /runs/{run}/fork': {
    summary: 'A new run, with other inputs or with outputs of your own',
    role: 'act',
    body: { fields: forked },
    async handle({ place, at, body, by }) {
      const options = { ...body, ...(body.outputs ? defined({ by }) : {}), signal: place.signal }
      const crew = await crewAt(place, at('run'))
      return startHere(place, crew, crew.run(at('run')).fork(options))
    },
  },
  'POST /runs/{run}/refresh': {
    summary: 'A new run in which only what is stale is executed',
    role: 'act',
    body: { fields: made },
    async handle({ place, at, body }) {
      const crew = await crewAt(place, at('run'))
      return startHere(place, crew, crew.run(at('run')).refresh({ ...body, signal: place.signal }))
    },
  },
  'POST /runs/{run}/cancel': {
    summary: 'End a run for good, wherever it is executed',
    role: 'act',
    body: { fields: { by: text('who does it') } },
    async handle({ place, at, by }) {
      const row = await readRow(place, at('run'))
      const known = place.crews.get(row.crew)
      if (known) await known.crew.run(row.run).cancel(defined({ by }))
      else await sendMessage(place.engine, row.run, { kind: 'cancel', ...defined({ by }) })
      return { runId: row.run }
    },
  },
}

/** What a worker is left with is the run as its journal has it: it cannot be told more. */
function refuseOptions(options: object): void {
  const [first] = Object.keys(options)
  if (first === undefined) return
  throw new StudioProblem('NO_CODE', `a worker continues the run as it is; ${first} is only for a resume here`)
}

/** Answers when the run is on disk. */
async function startHere({ own }: StudioContext, crew: Crew, started: RunPromise): Promise<StartedRun> {
  return { runId: await own.begin(crew, started), how: 'here' }
}

/** Of which tasks and inputs it has, only its code knows. */
function anyCrew(crew: Crew): Crew {
  return crew
}

async function crewAt(place: StudioContext, runId: string): Promise<Crew> {
  return anyCrew((await crewOfRun(place, runId)).crew)
}

/** As the plan of a run takes it: a replay and a refresh are forks. */
function planRequest(body: PlanBody): object {
  const { of, ...options } = body
  const kept = Object.entries(options).filter(([name]) => !ignoredByPlan.has(name))
  if (of === 'resume') return { of, ...Object.fromEntries(kept) }
  return { of: 'fork', ...Object.fromEntries(kept.map(([name, value]) => [name === 'task' ? 'from' : name, value])) }
}
/** What changes nothing of what is executed. */
const ignoredByPlan: ReadonlySet<string> = new Set(['id', 'by', 'how', 'budget'])

function planView(plan: Plan): PlanView {
  return { ...plan, text: String(plan) }
}
