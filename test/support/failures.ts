// What `npm test` says of a group of test files: nothing of what passes but how many, and all of what fails.
import { spec } from 'node:test/reporters'
import { Readable } from 'node:stream'
import type { TestEvent } from 'node:test/reporters'

export default async function* failures(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  yield* Readable.from(wanted(events)).compose(new spec()) as AsyncIterable<string>
}

async function* wanted(events: AsyncIterable<TestEvent>): AsyncGenerator<TestEvent> {
  for await (const event of events) {
    if (event.type !== 'test:pass' && event.type !== 'test:start') yield event
  }
}
