// The navigation, with the number of open questions and the state of the connection.
import type { JSX } from 'preact'
import { connected } from './api/listen.ts'
import { logOut, session } from './api/studio-session.ts'
import { Brand, Icon, IconButton, type IconName } from './parts/icons.tsx'
import { notify } from './parts/notices.tsx'
import { errorText } from './parts/states.tsx'
import { Link, currentLocation } from './routing/router.tsx'
import { sendHeld } from './waiting/held-answers.ts'

const views: readonly {
  readonly to: string
  readonly name: string
  readonly icon: IconName
  readonly first: string
}[] = [
  { to: '/', name: 'Waiting', icon: 'hand', first: '' },
  { to: '/runs', name: 'Runs', icon: 'list', first: 'runs' },
  { to: '/compare', name: 'Compare', icon: 'compare', first: 'compare' },
  { to: '/crews', name: 'Crews', icon: 'crew', first: 'crews' },
]

export function Side({ waiting, showHelp }: { readonly waiting: number | undefined; showHelp(): void }): JSX.Element {
  const here = currentLocation.value.parts[0] ?? ''
  const studio = session.value
  return (
    <nav class="side" aria-label="Studio">
      <Link to="/" class="home">
        <Brand />
      </Link>
      <ul class="nav">
        {views.map(({ to, name, icon, first }) => (
          <li key={to}>
            <Link to={to} aria-current={here === first ? 'page' : undefined}>
              <Icon name={icon} />
              {name}
              {first === '' && waiting !== undefined && waiting > 0 && (
                <span class="count">
                  {waiting}
                  <span class="hidden-text"> open questions</span>
                </span>
              )}
            </Link>
          </li>
        ))}
      </ul>
      <div class="side-end">
        <div class="side-tools">
          <IconButton label="Toggle theme" title="Toggle theme (t)" icon="sun" onClick={toggleTheme} />
          <IconButton label="Shortcuts" title="Shortcuts (?)" icon="help" class="for-keys" onClick={showHelp} />
          {typeof studio === 'object' && studio.tokens && (
            <IconButton label="Log out" title="Log out" icon="leave" onClick={sendAnswersAndLogOut} />
          )}
        </div>
        <p class={`connection ${connected.value === false ? 'is-lost' : connected.value ? '' : 'is-waiting'}`}>
          <i aria-hidden="true" />
          <span>{connected.value === false ? 'Reconnecting …' : connected.value ? 'Live' : 'Connecting …'}</span>
        </p>
        {typeof studio === 'object' && studio.role !== 'act' && (
          <p class="role">{studio.role === 'look' ? 'Read only' : 'Read and answer'}</p>
        )}
        {typeof studio === 'object' && (
          <p class="store clip" title={studio.store.url}>
            {studio.store.url}
          </p>
        )}
      </div>
    </nav>
  )
}

export function toggleTheme(): void {
  const { dataset } = document.documentElement
  const dark =
    dataset['theme'] === undefined ? matchMedia('(prefers-color-scheme: dark)').matches : dataset['theme'] === 'dark'
  dataset['theme'] = dark ? 'light' : 'dark'
  try {
    localStorage.setItem('reprise.theme', dataset['theme'])
  } catch {
    // without storage, the theme lasts until the page is closed
  }
}

function sendAnswersAndLogOut(): void {
  sendHeld()
  logOut().catch((error: unknown) => notify(errorText(error), { bad: true }))
}
