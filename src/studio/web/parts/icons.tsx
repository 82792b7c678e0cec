// The icons and the logo of the page as paths, without fonts or images.
import type { JSX } from 'preact'

const paths = {
  hand: 'M7 11V5.5a1.5 1.5 0 0 1 3 0V10m0-6.5a1.5 1.5 0 0 1 3 0V10m0-5a1.5 1.5 0 0 1 3 0v8a6 6 0 0 1-6 6h-.6a6 6 0 0 1-4.6-2.2L2.5 13a1.6 1.6 0 0 1 2.4-2.1L7 13',
  list: 'M4 5.5h12M4 10h12M4 14.5h12',
  crew: 'M7.5 9a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5Zm-5 7c0-3 2.2-5 5-5s5 2 5 5m.5-7a2.2 2.2 0 1 0-1-4.2M14 11.3c2 .5 3.5 2.2 3.5 4.7',
  compare: 'M4 4h5v12H4zM11 4h5v12h-5zM6 8h1m6 0h1m-8 3h1m6 0h1',
  sun: 'M10 13.5a3.5 3.5 0 1 0 0-7 3.5 3.5 0 0 0 0 7Zm0-11v1.4m0 12.2v1.4M2.5 10h1.4m12.2 0h1.4M4.7 4.7l1 1m8.6 8.6 1 1m0-10.6-1 1m-8.6 8.6-1 1',
  moon: 'M16.5 12A7 7 0 1 1 8 3.5a5.6 5.6 0 0 0 8.5 8.5Z',
  help: 'M7.8 7.7a2.3 2.3 0 1 1 3.3 2.1c-.8.4-1.1.9-1.1 1.7M10 14.2v.1M10 17.5a7.5 7.5 0 1 0 0-15 7.5 7.5 0 0 0 0 15Z',
  chevron: 'm7.5 5 5 5-5 5',
  close: 'm5 5 10 10M15 5 5 15',
  search: 'M9 14.5a5.5 5.5 0 1 0 0-11 5.5 5.5 0 0 0 0 11Zm4-1.5 4 4',
  check: 'm4 10.5 4 4 8-9',
  fork: 'M6 6.5v7m0-7a2 2 0 1 0 0-4 2 2 0 0 0 0 4Zm0 7a2 2 0 1 0 0 4 2 2 0 0 0 0-4Zm8-7a2 2 0 1 0 0-4 2 2 0 0 0 0 4Zm0 0c0 3-3 3.5-8 4',
  play: 'M6.5 4.5v11l9-5.5z',
  stop: 'M5.5 5.5h9v9h-9z',
  repeat: 'M4 9a5.5 5.5 0 0 1 9.5-3L16 8.5m0-4v4h-4M16 11a5.5 5.5 0 0 1-9.5 3L4 11.5m0 4v-4h4',
  copy: 'M7 7V4.5h8.5V13H13M4.5 7H13v8.5H4.5z',
  tool: 'M12.5 3.5a4 4 0 0 0-3.8 5.3L3.5 14l2.5 2.5 5.2-5.2a4 4 0 0 0 5-5L13.8 8.700 11.300 6.200 13.700 3.800a4 4 0 0 0-1.200-.3Z',
  model: 'M4 5h12v8H9.500L6 16v-3H4z',
  clock: 'M10 17.5a7.500 7.500 0 1 0 0-15 7.500 7.500 0 0 0 0 15ZM10 6v4l2.500 2',
  leave: 'M8.500 4H4v12h4.500M12.500 6.500 16 10l-3.500 3.500M16 10H8',
  more: 'M5 10h.1M10 10h.1M15 10h.1',
} as const

export type IconName = keyof typeof paths

export function Icon({ name, size = 18 }: { readonly name: IconName; readonly size?: number }): JSX.Element {
  return (
    <svg class="icon" viewBox="0 0 20 20" width={size} height={size} aria-hidden="true" focusable="false">
      <path d={paths[name]} />
    </svg>
  )
}

interface IconButtonProps {
  readonly label: string
  readonly icon: IconName
  readonly size?: number
  readonly title?: string
  readonly class?: string
  onClick(): void
}

export function IconButton({ label, icon, size = 18, class: more = '', ...rest }: IconButtonProps): JSX.Element {
  return (
    <button {...rest} type="button" class={`icon-button ${more}`} aria-label={label}>
      <Icon name={icon} size={size} />
    </button>
  )
}

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
