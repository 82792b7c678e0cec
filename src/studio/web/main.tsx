// The page begins here.
import { effect } from '@preact/signals'
import { render } from 'preact'
import { App } from './app.tsx'
import { followChanges } from './api/changes.ts'
import { openSession, session } from './api/studio-session.ts'
import { listenToKeys } from './keys/shortcuts.ts'
import { startClock } from './parts/time.tsx'
import { startRouter } from './routing/router.ts'
import './styles/tokens.css'
import './styles/base.css'
import './styles/shell.css'
import './styles/parts.css'
import './styles/waiting.css'
import './styles/runs.css'

startRouter()
startClock()
listenToKeys()
const app = document.getElementById('app')
if (app) render(<App />, app)
void openSession()
// from when somebody may look, and again after a token was given
effect(() => (typeof session.value === 'object' ? followChanges() : undefined))
