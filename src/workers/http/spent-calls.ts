// Calls that were answered for good, so that none of them counts twice. Each process remembers its own: another one
// that hears a call again only looks at the run, which wants nobody any more, or would have been advanced anyway.

export interface SpentCalls {
  has(id: string, now: number): boolean
  add(id: string, until: number): void
}

const most = 100_000

export function spentCalls(): SpentCalls {
  /** By their ids, the oldest first: until when a signature of theirs would count. */
  const spent = new Map<string, number>()
  return {
    has(id, now) {
      for (const [old, until] of spent) {
        if (until > now && spent.size <= most) break
        spent.delete(old)
      }
      return spent.has(id)
    },
    add: (id, until) => void spent.set(id, until),
  }
}
