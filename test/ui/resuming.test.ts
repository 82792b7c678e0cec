// A message that was cut off anywhere and is continued is the message that was never cut off.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { lastEntryNumber, toUIMessageStream, type RunUIMessage } from 'reprise/ui'
import { chunksOf, messageOf } from './read-message.ts'
import { plays, type Told } from './told-crews.ts'

const shows = [
  ['shown in full', true],
  ['shown by default', {}],
] as const

for (const [what, play] of Object.entries(plays))
  for (const [how, expose] of shows) {
    describe(`a run with ${what}, ${how},`, () => {
      const once = lazily(() => play(expose))

      test('is one message, whether received live or read from its journal', async () => {
        const { crew, chunks } = await once()
        const read = await chunksOf(toUIMessageStream(crew.run('r'), { expose }))
        assert.deepEqual(await messageOf(chunks), await messageOf(read))
        assert.ok((await messageOf(read)).parts.length > 0)
      })

      test('continues after each of its entries, to the same message', async () => {
        const { crew, chunks } = await once()
        const whole = await messageOf(chunks)
        const { entry } = whole.metadata ?? { entry: 0 }
        assert.ok(entry > 3)
        const read = await chunksOf(toUIMessageStream(crew.run('r'), { expose }))
        for (let after = 0; after <= entry; after++) {
          const cut = await upTo(after, read)
          const rest = await chunksOf(toUIMessageStream(crew.run('r'), { after, expose }))
          assert.deepEqual(await messageOf(rest, cut), whole, `after entry ${after}`)
        }
      })

      test('continues after any chunk that it was cut off at, to the same message', async () => {
        const { crew, chunks } = await once()
        const whole = await messageOf(chunks)
        for (let length = 0; length <= chunks.length; length++) {
          const cut = await messageOf(chunks.slice(0, length))
          const rest = await chunksOf(toUIMessageStream(crew.run('r'), { after: lastEntryNumber(cut), expose }))
          const continued = await messageOf(rest, length === 0 ? undefined : cut)
          assert.deepEqual(continued, whole, `after ${length} chunks, at entry ${lastEntryNumber(cut)}`)
        }
      })
    })
  }

function lazily(play: () => Promise<Told>): () => Promise<Told> {
  let told: Promise<Told> | undefined
  return () => (told ??= play())
}

/** The message as of an entry. */
async function upTo(after: number, chunks: Awaited<ReturnType<typeof chunksOf>>): Promise<RunUIMessage | undefined> {
  const isLater = (chunk: (typeof chunks)[number]): boolean =>
    'messageMetadata' in chunk && (chunk.messageMetadata?.entry ?? 0) > after
  const later = chunks.findIndex(isLater)
  // what an entry has the writer say ends with its number
  const own = chunks.slice(0, later < 0 ? chunks.length : later)
  const last = own.findLastIndex((chunk) => 'messageMetadata' in chunk)
  return after === 0 ? undefined : messageOf(own.slice(0, last + 1))
}
