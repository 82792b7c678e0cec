// When the store cannot say whether an append was written, reading the tail decides, while the lease lasts.
import { RepriseError } from '../../errors.ts'
import type { Batch, Lease } from '../../stores/store.ts'
import type { Engine } from '../definition.ts'

export async function appendSurely(
  engine: Engine,
  lease: Lease,
  after: number,
  batch: Batch,
  ready: () => Promise<void>,
): Promise<void> {
  for (let tries = 0; ; tries++) {
    try {
      return await engine.store.append(lease, after, batch)
    } catch (error) {
      const code = RepriseError.isInstance(error) ? error.code : undefined
      // a write whose outcome was unknown may have arrived late, and then blocks its repetition
      const late = code === 'SEQ_CONFLICT' && tries > 0 && (await tailOf(engine, lease, after, batch)) === 'ours'
      if (late) return
      if (code !== 'OUTCOME_UNKNOWN') throw error
    }
    for (;;) {
      await ready()
      await engine.world.sleep(Math.min(2_000, 50 * 2 ** tries), new AbortController().signal)
      tries += 1
      const tail = await tailOf(engine, lease, after, batch)
      if (tail === 'ours') return
      if (tail === 'empty') break
    }
  }
}

async function tailOf(
  engine: Engine,
  lease: Lease,
  after: number,
  batch: Batch,
): Promise<'ours' | 'empty' | 'unreadable'> {
  const lines = engine.store.read(lease.run, after)[Symbol.asyncIterator]()
  const next = await lines.next().catch(() => undefined)
  if (!next) return 'unreadable'
  await lines.return?.()
  if (next.done) return 'empty'
  if (Buffer.compare(next.value.bytes, batch.lines[0]?.bytes ?? new Uint8Array()) === 0) return 'ours'
  const words = `run ${lease.run} was continued by another process; nothing more was written here`
  throw new RepriseError('LEASE_LOST', words, { runId: lease.run })
}
