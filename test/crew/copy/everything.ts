// Everything that a store returns about its runs, through every read of the port, in a form that can be compared
// between stores.
import { allRows } from '../../../src/read/all-rows.ts'
import { blobReferences } from '../../../src/journal/codec.ts'
import type { OutputKey, RunRow, Store } from '../../../src/stores/store.ts'
import { linesOf } from '../../../src/testing/store-contract/harness.ts'

/** Outputs that were ever given to a store, as they can be looked up. */
export type Given = (Pick<OutputKey, 'task' | 'fingerprint'> & { readonly crew: string })[]

/** Notes the outputs that are made findable. */
export function notingOutputs(inner: Store, given: Given): Store {
  const note = (crew: string, outputs: readonly OutputKey[] = []): void =>
    void given.push(...outputs.map(({ task, fingerprint }) => ({ crew, task, fingerprint })))
  return {
    ...inner,
    create(row, batch, lease) {
      note(row.crew, batch.outputs)
      return inner.create(row, batch, lease)
    },
    append(lease, after, batch) {
      if (batch.row) note(batch.row.crew, batch.outputs)
      return inner.append(lease, after, batch)
    },
  }
}

export async function everythingIn(store: Store, outputs: Given = []): Promise<object> {
  const runs: object[] = []
  for await (const row of allRows(store, {})) {
    const lines = await linesOf(store, row.run)
    const texts = lines.map(({ bytes }) => Buffer.from(bytes).toString())
    const files = texts.flatMap((text) =>
      [...text.matchAll(/"\$file":\{"hash":"([^"]+)"/g)].map(([, hash = '']) => hash),
    )
    const hashes = [...new Set([...texts.flatMap(blobReferences), ...files])]
    const blobs = await Promise.all(hashes.map((hash) => store.blob(row.run, hash)))
    runs.push({
      listed: withoutLag(row),
      row: withoutLag(await store.row(row.run)),
      lines: lines.map(({ seq }, index) => [seq, texts[index]]),
      blobs: blobs.map((bytes, index) => [hashes[index], bytes && Buffer.from(bytes).toString()]),
      inbox: await store.inbox(row.run),
      holder: await store.holder(row.run),
    })
  }
  const found = await Promise.all(
    outputs.map(({ crew, task, fingerprint }) => store.findOutput(crew, task, fingerprint)),
  )
  // a copy has the time of the entry, and the store that it comes from that of its own clock
  return { runs, found: found.map((output) => output && { run: output.run, seq: output.seq }) }
}

/** Steps don't rewrite the row of a run in progress; a copy's row is made from the whole journal. */
function withoutLag(row: RunRow | undefined): Partial<RunRow> | undefined {
  return row?.status === 'running' ? { ...row, summary: '', updatedAt: '' } : row
}
