// The recipes of examples/recipes, each with its queue in its own part of a server.
import { Queue } from 'bullmq'
import { Logger } from 'graphile-worker'
import pg from 'pg'
import { PgBoss } from 'pg-boss'
import { createClient } from 'redis'
import type { Dispatcher } from 'reprise/workers'
import { bullmqDispatcher } from '../../../examples/recipes/bullmq.ts'
import { graphileDispatcher } from '../../../examples/recipes/graphile-worker.ts'
import { pgBossDispatcher } from '../../../examples/recipes/pg-boss.ts'

export interface RecipeQueue extends AsyncDisposable {
  readonly dispatcher: Dispatcher
  /** All jobs: waiting, started and failed. */
  jobs(queue: string): Promise<{ readonly waiting: number; readonly begun: number; readonly failed: number }>
  /** Loses every job that waits. */
  lose(queue: string): Promise<void>
  /** Removes the queue's part of the server. */
  clear(): Promise<void>
}

/** The recipes by the server that each needs. */
export const recipes = { 'pg-boss': 'postgres', 'graphile-worker': 'postgres', bullmq: 'redis' } as const
export type Recipe = keyof typeof recipes

export interface RecipePlace {
  readonly recipe: Recipe
  readonly server: string
  /** Has letters, digits and `_`. */
  readonly part: string
}

export function openRecipe({ recipe, server, part }: RecipePlace): Promise<RecipeQueue> {
  return openers[recipe](server, part)
}

const openers: { readonly [recipe in Recipe]: (server: string, part: string) => Promise<RecipeQueue> } = {
  async 'pg-boss'(connectionString, schema) {
    const boss = new PgBoss({ connectionString, schema, useListenNotify: true })
    boss.on('error', console.error)
    await boss.start()
    const database = boss.getDb()
    return {
      dispatcher: pgBossDispatcher(boss),
      async jobs(queue) {
        const { rows } = await database.executeSql(`select state from ${schema}.job where name = $1`, [queue])
        const count = (state: string): number => rows.filter((row) => (row as { state: string }).state === state).length
        return { waiting: count('created'), begun: count('active'), failed: count('failed') + count('retry') }
      },
      lose: (queue) => boss.deleteQueuedJobs(queue),
      clear: async () => void (await database.executeSql(`drop schema ${schema} cascade`)),
      [Symbol.asyncDispose]: () => boss.stop({ graceful: false }),
    }
  },

  async 'graphile-worker'(connectionString, schema) {
    const pgPool = new pg.Pool({ connectionString })
    pgPool.on('error', console.error)
    pgPool.on('connect', (client) => void client.on('error', console.error))
    const logger = new Logger(() => (level, message) => void (level === 'error' && console.error(message)))
    return {
      dispatcher: graphileDispatcher({ pgPool, schema, logger }),
      async jobs(queue) {
        const { rows } = await pgPool.query<{ is_begun: boolean; is_over: boolean }>(
          `select locked_at is not null as is_begun, attempts >= max_attempts as is_over from ${schema}.jobs where task_identifier = $1`,
          [queue],
        )
        const begun = rows.filter((row) => row.is_begun).length
        const failed = rows.filter((row) => !row.is_begun && row.is_over).length
        return { waiting: rows.length - begun - failed, begun, failed }
      },
      lose: async () => void (await pgPool.query(`delete from ${schema}._private_jobs where locked_at is null`)),
      clear: async () => void (await pgPool.query(`drop schema if exists ${schema} cascade`)),
      [Symbol.asyncDispose]: () => pgPool.end(),
    }
  },

  async bullmq(url, prefix) {
    const client = createClient({ url })
    client.on('error', console.error)
    await client.connect()
    const queues = new Map<string, Queue>()
    const open = (name: string): Queue => {
      const queue = queues.get(name) ?? new Queue(name, { connection: client, prefix })
      queues.set(name, queue)
      return queue
    }
    return {
      dispatcher: bullmqDispatcher(client, prefix),
      async jobs(queue) {
        const counts = await open(queue).getJobCounts('wait', 'delayed', 'active', 'failed', 'completed')
        const { wait = 0, delayed = 0, active = 0, failed = 0, completed = 0 } = counts
        return { waiting: wait + delayed, begun: active, failed: failed + completed }
      },
      lose: (queue) => open(queue).drain(true),
      async clear() {
        for await (const keys of client.scanIterator({ MATCH: `${prefix}:*`, COUNT: 1_000 }))
          if (keys.length > 0) await client.unlink(keys)
      },
      [Symbol.asyncDispose]: async () => client.destroy(),
    }
  },
}
