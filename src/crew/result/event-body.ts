// The body of a response with server-sent events, whatever they say. Nothing is read ahead: what comes next is fetched
// when the client has taken what came before, so a slow client costs no memory. A comment every now and then keeps
// proxies from closing a silent connection. A client that leaves ends the following, also while it waits.

const pingMs = 15_000

export interface BodySource<Event, End> {
  readonly events: AsyncIterator<Event, End>
  /** A comment: servers send the headers with the first byte. */
  readonly opening: string
  /** What is sent for an event; nothing, where that is empty. */
  text(event: Event): string
  /** What is sent last. */
  endText(end: End): string
  errorText(error: unknown): string
  sleep(ms: number, signal: AbortSignal): Promise<void>
}

export function eventBody<Event, End>(source: BodySource<Event, End>): ReadableStream<Uint8Array> {
  const { events, opening } = source
  const encoder = new TextEncoder()
  // asked for once, and waited for over as many pings as it takes
  let next: Promise<IteratorResult<Event, End>> | undefined
  let silence = new AbortController()
  let opened = false
  let gone = false

  async function text(): Promise<{ readonly words: string; readonly last: boolean }> {
    next ??= events.next()
    silence = new AbortController()
    const silent = source.sleep(pingMs, silence.signal).then(() => 'silent' as const)
    // when it is broken, nobody waits for it any more
    silent.catch(() => {})
    try {
      const event = await Promise.race([next, silent])
      if (event === 'silent') return { words: ': ping\n\n', last: false }
      next = undefined
      return event.done
        ? { words: source.endText(event.value), last: true }
        : { words: source.text(event.value), last: false }
    } finally {
      silence.abort()
    }
  }

  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const send = (words: string): void => controller.enqueue(encoder.encode(words))
        if (!opened) {
          opened = true
          return send(`: ${opening}\n\n`)
        }
        try {
          // whoever pulls is to be given something, or nobody would pull again
          for (;;) {
            const { words, last } = await text()
            if (gone) return
            if (words !== '') send(words)
            if (last) return controller.close()
            if (words !== '') return
          }
        } catch (error) {
          if (gone) return
          send(source.errorText(error))
          controller.close()
        }
      },
      async cancel() {
        gone = true
        silence.abort()
        await events.return?.()
      },
    },
    { highWaterMark: 0 },
  )
}

/** One event. A line break in the data begins another data line, or the rest would be read as a field of its own. */
export function eventFrame({
  id,
  event,
  data,
}: {
  readonly id?: number | undefined
  readonly event?: string
  readonly data: string
}): string {
  const lines = data.split(/\r\n|\r|\n/).map((line) => `data: ${line}`)
  return `${id === undefined ? '' : `id: ${id}\n`}${event === undefined ? '' : `event: ${event}\n`}${lines.join('\n')}\n\n`
}
