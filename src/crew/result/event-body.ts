// Body of a response with server-sent events. Nothing is read ahead: the next event is fetched when the client took the
// previous one, so that a slow client costs no memory. Regular comments keep proxies from closing a silent connection.
// When the client disconnects, following ends at once.

const pingMs = 15_000

export interface BodySource<Event, End> {
  readonly events: AsyncIterator<Event, End>
  /** Text of a first comment, since servers send the headers with the first byte. */
  readonly opening: string
  /** Text to send for an event; an empty text sends nothing. */
  text(event: Event): string
  /** Final text. */
  endText(end: End): string
  errorText(error: unknown): string
  sleep(ms: number, signal: AbortSignal): Promise<void>
}

export function eventBody<Event, End>(source: BodySource<Event, End>): ReadableStream<Uint8Array> {
  const { events, opening } = source
  const encoder = new TextEncoder()
  // requested once, and awaited across any number of pings
  let next: Promise<IteratorResult<Event, End>> | undefined
  let silence = new AbortController()
  let opened = false
  let gone = false

  async function text(): Promise<{ readonly words: string; readonly last: boolean }> {
    next ??= events.next()
    silence = new AbortController()
    const silent = source.sleep(pingMs, silence.signal).then(() => 'silent' as const)
    // the abort below rejects it
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
          // a pull must enqueue something, or the stream would not pull again
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

/**
 * Formats one event. Line breaks in the data start new data lines; otherwise the rest would be read as another field.
 */
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
