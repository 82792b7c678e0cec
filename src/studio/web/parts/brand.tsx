// The sign and the name.
import type { JSX } from 'preact'

export function Brand(): JSX.Element {
  return (
    <span class="brand">
      <svg viewBox="0 0 32 32" aria-hidden="true">
        <rect width="32" height="32" rx="8" />
        <path d="M10 23V9h7a4.500 4.500 0 0 1 0 9h-7m7 0 5 5" />
      </svg>
      Reprise
    </span>
  )
}
