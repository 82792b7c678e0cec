// Plans, starts, resumes, cancels, replays and forks runs. If the code of the crew is loaded, the studio executes or
// queues the run. Without the code, a run can only be cancelled or requeued for a worker.
import type { Crew } from '../../crew/crew.ts'
import { RepriseError } from '../../base/errors.ts'
import { Chat } from '../../crew/chat/chat.ts'
import type { Plan } from '../../crew/result/plan.ts'
import type { RunPromise } from '../../crew/run.ts'
import { defined } from '../../base/options.ts'
import { rootRunId } from '../../journal/paths.ts'
import { lastRun, moveOf, runMoved, readSummary } from '../../read/row-summary.ts'
import type { PlanBody, PlanView, StartedRun } from '../api/contract.ts'
import { StudioProblem } from '../api/problem.ts'
import * as fields from '../api/requests.ts'
import type { Routes } from '../api/route.ts'
import { optionalFields, type Field } from '../api/schema.ts'
import { crewOfRun, findCrew, readRow, type StudioContext } from '../context.ts'

const resumeFields = { ...fields.resumeFields, ...fields.decisionFields }
const newRunFields = { ...fields.newRunFields, ...fields.decisionFields }
const replayFields = { ...newRunFields, ...fields.scopeFields, ...fields.replayFields }
const forkFields = { ...newRunFields, ...fields.scopeFields, ...fields.forkFields }
const planKinds: Field = {
  type: 'string',
  enum: ['resume', 'replay', 'fork', 'refresh'],
  description: 'The request to plan. The other fields are those of that request.',
  isRequired: true,
}
const planFields = { ...optionalFields({ ...resumeFields, ...replayFields, ...forkFields }), of: planKinds }

export const actionRoutes: Routes<
  | 'POST /crews/{crew}/plan'
  | 'POST /runs/{run}/plan'
  | 'POST /crews/{crew}/runs'
  | 'POST /runs/{run}/resume'
  | 'POST /runs/{run}/replay'
  | 'POST /runs/{run}/fork'
  | 'POST /runs/{run}/refresh'
  | 'POST /runs/{run}/events'
  | 'POST /runs/{run}/cancel'
> = {
  'POST /crews/{crew}/plan': {
    summary: 'Plan a new run',
    role: 'act',
    body: fields.kickoffFields,
    handle: async ({ context, param, body }) =>
      planView(await findCrew(context, param('crew')).crew.plan({ of: 'kickoff', ...body })),
  },
  'POST /runs/{run}/plan': {
    summary: 'Plan a resume, replay, fork or refresh of a run',
    role: 'act',
    body: planFields,
    async handle({ context, param, body }) {
      const crew = await crewOfRun(context, param('run'))
      return planView(await crew.run(param('run')).plan(planRequest(body)))
    },
  },
  'POST /crews/{crew}/runs': {
    summary: 'Start a run',
    role: 'act',
    body: { ...fields.kickoffFields, ...fields.startFields },
    async handle({ context, param, body }) {
      const { crew } = findCrew(context, param('crew'))
      const { how, ...options } = body
      if (how === 'queue') return { runId: (await crew.enqueue(options)).id, how }
      return startHere(context, crew, crew.kickoff({ ...options, signal: context.signal }))
    },
  },
  'POST /runs/{run}/resume': {
    summary: 'Resume a run after its last recorded step',
    role: 'act',
    body: resumeFields,
    async handle({ context, param, body, by }) {
      const row = await readRow(context, param('run'))
      const { crew: name } = row
      const move = moveOf(readSummary(row))
      // the run continues in the other store, so it must not be queued in this one
      if (move) throw runMoved(row.run, move)
      const { how, by: _, ...options } = body
      const loaded = context.crews.get(name)
      if (how !== 'queue' && loaded) {
        const { crew } = loaded
        return startHere(context, crew, crew.run(param('run')).resume({ ...options, signal: context.signal }))
      }
      if (how === 'here') findCrew(context, name)
      refuseOptions(options)
      // with the code of the crew, its dispatcher wakes the run
      const run = loaded ? loaded.crew.run(row.run) : context.runs.run(row.run)
      return { runId: await run.requeue(defined({ by })), how: 'queue' }
    },
  },
  'POST /runs/{run}/replay': {
    summary: 'Start a new run that inherits everything before a task',
    role: 'act',
    body: replayFields,
    async handle({ context, param, body }) {
      const { task, ...options } = body
      const crew = await crewOfRun(context, param('run'))
      return startHere(context, crew, crew.run(param('run')).replay(task, { ...options, signal: context.signal }))
    },
  },
  'POST /runs/{run}/fork': {
    summary: 'Start a new run with edited inputs or outputs',
    role: 'act',
    body: forkFields,
    async handle({ context, param, body, by }) {
      const options = { ...body, ...(body.outputs ? defined({ by }) : {}), signal: context.signal }
      const crew = await crewOfRun(context, param('run'))
      return startHere(context, crew, crew.run(param('run')).fork(options))
    },
  },
  'POST /runs/{run}/refresh': {
    summary: 'Start a new run that executes only what is stale',
    role: 'act',
    body: newRunFields,
    async handle({ context, param, body }) {
      const crew = await crewOfRun(context, param('run'))
      return startHere(context, crew, crew.run(param('run')).refresh({ ...body, signal: context.signal }))
    },
  },
  'POST /runs/{run}/events': {
    summary: 'Send an event to a run of a flow',
    role: 'act',
    body: fields.eventFields,
    async handle({ context, param, body, by }) {
      const row = await readRow(context, param('run'))
      const { name, value = null, id } = body
      const run = context.crews.get(row.crew)?.crew.run(row.run) ?? context.runs.run(row.run)
      await run.send(name, value, defined({ id, by }))
      const newest = await lastRun(context.store, row.run)
      // a run that this studio executed continues here, as after an answer
      if (!(await context.own.resumeIfAnswered(rootRunId(newest)))) await answerHere(context, newest)
      return { runId: newest }
    },
  },
  'POST /runs/{run}/cancel': {
    summary: 'Cancel a run',
    role: 'act',
    body: fields.cancelFields,
    async handle({ context, param, by }) {
      const row = await readRow(context, param('run'))
      const loaded = context.crews.get(row.crew)
      if (loaded) await loaded.crew.run(row.run).cancel(defined({ by }))
      else await context.runs.run(row.run).cancel(defined({ by }))
      return { runId: row.run }
    },
  },
}

/** Executes the next turn of a conversation, as `send` of a chat does, unless another process executes it. */
async function answerHere(context: StudioContext, runId: string): Promise<void> {
  const { crew } = context.crews.get((await readRow(context, runId)).crew) ?? {}
  if (!(crew instanceof Chat) || crew.workers) return
  await startHere(context, crew, crew.run(runId).resume({ signal: context.signal })).catch((error: unknown) => {
    if (!RepriseError.isInstance(error) || error.code !== 'RUN_HELD') throw error
  })
}

/** Throws NO_CODE if there are options: a worker resumes the run as recorded. */
function refuseOptions(options: object): void {
  const [first] = Object.keys(options)
  if (first === undefined) return
  throw new StudioProblem(
    'NO_CODE',
    `a worker resumes the run as recorded; ${first} is only for runs that the studio resumes; leave it out`,
  )
}

/** Resolves as soon as the run is stored. */
async function startHere({ own }: StudioContext, crew: Crew, started: RunPromise): Promise<StartedRun> {
  return { runId: await own.track(crew, started), how: 'here' }
}

/** The library plans replays and refreshes as forks. */
function planRequest(body: PlanBody): object {
  const { of, ...options } = body
  const relevant = Object.entries(options).filter(([name]) => !ignoredByPlan.has(name))
  if (of === 'resume') return { of, ...Object.fromEntries(relevant) }
  return {
    of: 'fork',
    ...Object.fromEntries(relevant.map(([name, value]) => [name === 'task' ? 'from' : name, value])),
  }
}
/** Options that don't change which tasks are executed. */
const ignoredByPlan: ReadonlySet<string> = new Set(['id', 'by', 'how', 'budget'])

function planView(plan: Plan): PlanView {
  return { ...plan, text: String(plan) }
}
