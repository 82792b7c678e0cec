// A command for a shell in the folder of the crew's project, on the store of this studio.
import type { JSX } from 'preact'
import { shellWord } from '../../../text/shell-word.ts'
import { session } from '../api/studio-session.ts'

interface CommandProps {
  /** `or: `, for example. */
  readonly lead: string
  readonly words: readonly string[]
}

/** Nothing for a store that ends with the process of the studio: no command reaches it. */
export function Command({ lead, words }: CommandProps): JSX.Element | null {
  const studio = session.value
  const url = typeof studio === 'object' ? studio.store.url : ''
  if (url === '' || url === 'memory:') return null
  return (
    <>
      {lead}
      <code class="command">{['npx', 'reprise', ...words, '--store', url].map(shellWord).join(' ')}</code>
    </>
  )
}
