// What a child run adds to the narration of its parent: its texts, under the name of the parent's task.
import { defined } from '../base/options.ts'
import { childAddress } from '../journal/paths.ts'
import type { AttemptState } from '../journal/state/state.ts'
import type { ChildEntry } from '../read/follow.ts'
import type { RunEvent } from '../read/listeners.ts'
import type { Item, TextItem } from './items.ts'
import type { Narration } from './narration.ts'

/** A child run, whose texts are part of the narration of its parent. */
export interface ChildNarration {
  add(event: RunEvent | ChildEntry): void
  dropUnrecorded(): void
  /** Whether its attempt was open as of the newest entry of the parent. */
  isOpen: boolean
  /** The shown texts that the parent hasn't taken. */
  texts(): TextItem[]
  /**
   * Takes the texts that were recorded under leases up to this one. The child run rests under the same lease as its
   * parent; what it has recorded since it continued comes later for every reader.
   */
  take(token: number): TextItem[]
}

/** `narration`: of the child run that the attempt created. */
export function createChildNarration({ path, task }: AttemptState, narration: Narration): ChildNarration {
  const [, ...address] = childAddress(task, path).split('/')
  const asParents = new Map<TextItem, TextItem>()
  /** How many items there are as of each lease. */
  const counts: { readonly token: number; count: number }[] = []
  let taken = 0

  function asParent(item: TextItem): TextItem {
    const { task: inner, within, path: innerPath, agent } = item.origin
    const known = asParents.get(item) ?? {
      ...item,
      key: `${path}/${item.key}`,
      origin: {
        task,
        within: [...address, inner, ...(within === undefined ? [] : [within])].join('/'),
        path: `${path}/${innerPath}`,
        ...defined({ agent }),
      },
    }
    asParents.set(item, known)
    return Object.assign(known, { text: item.text, done: item.done })
  }

  const textsIn = (items: readonly Item[]): TextItem[] =>
    items.flatMap((item) =>
      (item.type === 'text' || item.type === 'reasoning') && narration.isShown(item) ? asParent(item) : [],
    )

  return {
    isOpen: true,
    add(event) {
      // a reader that starts over gets the entries of child runs again
      if ('seq' in event && event.seq <= narration.state.seq) return
      narration.addEvent(event)
      if (!('seq' in event)) return
      const { token } = event
      const last = counts.at(-1)
      if (last?.token === token) last.count = narration.items.length
      else counts.push({ token, count: narration.items.length })
    },
    dropUnrecorded: narration.dropUnrecorded,
    texts: () => textsIn([...narration.items.slice(taken), ...narration.unrecorded()]),
    take(token) {
      const end = counts.findLast((lease) => lease.token <= token)?.count ?? taken
      const texts = textsIn(narration.items.slice(taken, end))
      taken = end
      return texts
    },
  }
}
