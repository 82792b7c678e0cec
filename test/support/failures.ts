// The reporter of `npm test`. It prints the failing tests of a group and counts the others. It also sends the start and
// end of each test to test/run.ts, whose time limit counts from the last of these messages.
import { relative } from 'node:path'
import { spec } from 'node:test/reporters'
import { Readable } from 'node:stream'
import type { TestEvent } from 'node:test/reporters'

/** `test`: file and title. */
export type Progress =
  | { readonly type: 'started' | 'ended'; readonly test: string }
  | { readonly type: 'skipped'; readonly test: string; readonly reason: string }

export default async function* failures(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  yield* Readable.from(withoutPasses(events)).compose(new spec()) as AsyncIterable<string>
}

async function* withoutPasses(events: AsyncIterable<TestEvent>): AsyncGenerator<TestEvent> {
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
  // the store contract runs on other test runners too, so it writes the reason into the title
  const [, named = 'no reason given'] = /\(skipped: (.+)\)$/.exec(data.name) ?? []
  return { type: 'skipped', test, reason: typeof data.skip === 'string' ? data.skip : named }
}
