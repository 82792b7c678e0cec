// The reporter of `npm test`. It prints the tests of a group that fail, and counts the others. Where a channel to
// test/run.ts is open, it sends each test that starts or ends: limits on time count from the last of these.
import { relative } from 'node:path'
import { spec } from 'node:test/reporters'
import { Readable } from 'node:stream'
import type { TestEvent } from 'node:test/reporters'

export interface Progress {
  readonly type: 'started' | 'ended'
  /** The file and the title. */
  readonly test: string
}

export default async function* failures(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  yield* Readable.from(wanted(events)).compose(new spec()) as AsyncIterable<string>
}

async function* wanted(events: AsyncIterable<TestEvent>): AsyncGenerator<TestEvent> {
  for await (const event of events) {
    report(event)
    if (event.type !== 'test:pass' && event.type !== 'test:start') yield event
  }
}

function report({ type, data }: TestEvent): void {
  if (type !== 'test:dequeue' && type !== 'test:complete') return
  if ((type === 'test:dequeue' ? data.type : data.details.type) === 'suite') return
  const test = `${relative(process.cwd(), data.file ?? '')}: ${data.name}`
  const progress: Progress = { type: type === 'test:dequeue' ? 'started' : 'ended', test }
  process.send?.(progress)
}
