// Rows of the views as they are expected, made from the read model.
import pg from 'pg'
import { wholeTask } from '../../src/cli/show/run/task-history.ts'
import type { Usage } from '../../src/journal/entries.ts'
import { addUsage, noUsage, replyText, type RunState } from '../../src/journal/state/state.ts'
import { rootRun, taskOf } from '../../src/journal/paths.ts'
import type { RunView } from '../../src/runs/run-view.ts'

export type SqlRow = { readonly [column: string]: unknown }
export type Sql = (text: string, values?: readonly unknown[]) => Promise<SqlRow[]>

const pools = new Map<string, pg.Pool>()
const parsers = new Map<number, (text: string) => unknown>([
  // bool
  [16, (text) => text === 't'],
  // int8, int2, int4, numeric
  ...[20, 21, 23, 1700].map((oid) => [oid, Number] as const),
  // timestamptz
  [1184, (text) => new Date(text).toISOString()],
  // jsonb
  [3802, (text) => JSON.parse(text) as unknown],
])

/** Statements whose numbers are numbers and whose times are ISO 8601; `{}` stands for the schema of the store. */
export function sqlOf(url: string): Sql {
  const place = new URL(url)
  const schema = place.searchParams.get('schema') ?? 'reprise'
  place.searchParams.delete('schema')
  const pool = pools.get(place.href) ?? new pg.Pool({ connectionString: place.href, max: 1, allowExitOnIdle: true })
  pools.set(place.href, pool)
  const getTypeParser = (oid: number) => parsers.get(oid) ?? String
  return async (text, values = []) => {
    const query = { text: text.replaceAll('{}', schema), values: [...values], types: { getTypeParser } as never }
    // not by the pool itself, which closes a connection after an error: a role that is set would be gone
    const client = await pool.connect()
    try {
      return (await client.query(query)).rows as SqlRow[]
    } finally {
      client.release()
    }
  }
}

/** Values as the views have them: no NUL, and no half of a character. */
export function readable<T>(value: T): T {
  if (typeof value === 'string') return value.replaceAll('\0', '\ufffd').toWellFormed() as T
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(readable) as T
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, readable(item)])) as T
}

export function expectedRun(view: RunView): SqlRow {
  return {
    run_id: view.runId,
    crew: view.crew,
    version: view.version,
    status: view.status,
    inputs: view.inputs,
    root_id: rootRun(view.runId),
    caller_id: view.caller ?? null,
    parent_id: view.parent?.runId ?? null,
    parent_from: view.parent?.from ?? null,
    created_at: view.createdAt,
    updated_at: view.updatedAt,
    lives: view.lives,
    done: view.done,
    total: view.total,
    open_questions: view.openQuestions,
    ...tokens(view.usage),
    error_code: view.error?.code ?? null,
    error_message: view.error?.message ?? null,
    error_task: view.error?.task ?? null,
    due_at: view.dueAt ?? null,
  }
}

export function expectedTasks(view: RunView): SqlRow[] {
  return view.tasks.map((task, index) => ({
    run_id: view.runId,
    crew: view.crew,
    position: index + 1,
    task: task.name,
    task_id: task.id,
    description: task.description,
    expected_output: task.expectedOutput ?? null,
    agent: task.agent ?? null,
    status: task.status,
    attempts: task.attempts,
    started_at: task.startedAt ?? null,
    completed_at: task.completedAt ?? null,
    raw: task.completedAt === undefined ? null : task.raw,
    output: task.output ?? null,
    output_file: task.outputFile ?? null,
    inherited_from: task.from ?? null,
    stale: task.stale ?? null,
    error_code: task.error?.code ?? null,
    error_message: task.error?.message ?? null,
    child_id: task.child ?? null,
    open_questions: view.questions.filter(({ path }) => taskOf(path) === task.name).length,
    ...tokens(task.usage),
  }))
}

export function expectedSteps(state: RunState): SqlRow[] {
  return [...state.tasks.values()].flatMap((task) =>
    wholeTask(state, task, {} as never).history.flatMap(({ path: attempt, agent, request, turns }) =>
      turns.flatMap(({ path, startedAt, repliedAt, usage, tries = [], parts, calls }) => [
        ...(parts && usage && request
          ? [
              {
                task: task.name,
                attempt,
                path,
                kind: 'model',
                name: request.model,
                agent: agent ?? null,
                status: 'replied',
                started_at: startedAt,
                ended_at: repliedAt,
                times: tries.length + 1,
                output: replyText({ parts }),
                ...tokens([usage, ...tries.map((one) => one.usage ?? noUsage)].reduce(addUsage, noUsage)),
              },
            ]
          : []),
        ...calls.map((call) => ({
          task: task.name,
          attempt,
          path: call.path,
          kind: 'tool',
          name: call.tool,
          agent: agent ?? null,
          status: statusOf(call),
          started_at: call.calledAt ?? null,
          effect: call.effect ?? null,
          source: call.source ?? null,
          times: call.times,
          input: call.input,
          output: call.outcome && 'result' in call.outcome ? call.outcome.result : null,
        })),
      ]),
    ),
  )
}

type Call = ReturnType<typeof wholeTask>['history'][number]['turns'][number]['calls'][number]

function statusOf({ outcome, abandoned, calledAt }: Call): string {
  if (outcome) {
    const [name = ''] = Object.keys(outcome)
    return { result: 'returned', error: 'failed' }[name] ?? name
  }
  if (abandoned !== undefined) return 'abandoned'
  return calledAt === undefined ? 'asked' : 'called'
}

function tokens({ calls, input, output, cacheRead, cacheWrite, reasoning }: Usage): SqlRow {
  return {
    calls,
    input_tokens: input,
    output_tokens: output,
    cache_read_tokens: cacheRead ?? null,
    cache_write_tokens: cacheWrite ?? null,
    reasoning_tokens: reasoning ?? null,
  }
}
