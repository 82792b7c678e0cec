// The reporter of `npm test`. It prints the tests of a group that fail, and counts the others. Where a channel to
// test/run.ts is open, it sends each test that starts or ends: limits on time count from the last of these.
import { relative } from 'node:path'
import { spec } from 'node:test/reporters'
import { Readable } from 'node:stream'
import type { TestEvent } from 'node:test/reporters'

/** `test`: the file and the title. */
export type Progress =
  | { readonly type: 'started' | 'ended'; readonly test: string }
  | { readonly type: 'skipped'; readonly test: string; readonly reason: string }

export default async function* failures(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  yield* Readable.from(wanted(events)).compose(new spec()) as AsyncIterable<string>
}

async function* wanted(events: AsyncIterable<TestEvent>): AsyncGenerator<TestEvent> {
  for await (const event of events) {
    report(event)
    if (event.type !== 'test:pass' && event.type !== 'test:start') yield event
  }
}

function report(event: TestEvent): void {
  const progress = progressOf(event)
  if (progress) process.send?.(progress)
}

function progressOf({ type, data }: TestEvent): Progress | undefined {
  if (type !== 'test:dequeue' && type !== 'test:complete' && type !== 'test:pass') return undefined
  if ((type === 'test:dequeue' ? data.type : data.details.type) === 'suite') return undefined
  const test = `${relative(process.cwd(), data.file ?? '')}: ${data.name}`
  if (type !== 'test:pass') return { type: type === 'test:dequeue' ? 'started' : 'ended', test }
  if (data.skip === undefined || data.skip === false) return undefined
  return { type: 'skipped', test, reason: typeof data.skip === 'string' ? data.skip : 'no reason given' }
}
