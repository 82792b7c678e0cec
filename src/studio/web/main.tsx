// The entry point of the page.
import { render } from 'preact'
import { App } from './app.tsx'
import { openSession } from './api/studio-session.ts'
import { listenToKeys } from './keys/shortcuts.ts'
import { startClock } from './parts/time.tsx'
import { startRouter } from './routing/router.tsx'
import { sendHeldOnLeaving } from './waiting/held-answers.ts'
import './styles/tokens.css'
import './styles/base.css'
import './styles/shell.css'
import './styles/parts.css'
import './styles/waiting.css'
import './styles/runs.css'

startRouter()
startClock()
listenToKeys()
sendHeldOnLeaving()
const app = document.getElementById('app')
if (app) render(<App />, app)
void openSession()
