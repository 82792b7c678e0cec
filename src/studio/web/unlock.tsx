// The form that asks for a token: at the start, and again when the token is no longer valid.
import type { JSX } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { ApiError } from './api/client.ts'
import { lockedOut, unlock } from './api/studio-session.ts'
import { Brand } from './parts/icons.tsx'
import { errorText } from './parts/states.tsx'

export function Unlock(): JSX.Element {
  const [token, setToken] = useState('')
  const [problem, setProblem] = useState('')
  const [busy, setBusy] = useState(false)
  const field = useRef<HTMLInputElement>(null)
  useEffect(() => {
    document.title = 'Token · Reprise studio'
    field.current?.focus()
  }, [])
  const open = async (): Promise<void> => {
    setBusy(true)
    setProblem('')
    try {
      await unlock(token.trim())
    } catch (error) {
      setProblem(describeProblem(error))
      setBusy(false)
      field.current?.select()
    }
  }
  return (
    <main class="unlock">
      <form
        class="panel form"
        onSubmit={(event) => {
          event.preventDefault()
          if (!busy) void open()
        }}
      >
        <h1>
          <Brand /> studio
        </h1>
        {lockedOut.value && (
          <p class="note" role="status">
            Your token is no longer valid: the studio has new tokens, or you logged out in another tab. Enter a token to
            return to where you were.
          </p>
        )}
        <div class="field">
          <label for="token">Token</label>
          <p id="token-hint" class="hint">
            Tokens are set with <code>--token</code> or <code>REPRISE_STUDIO_TOKEN</code> when the studio is started.
            Each token has a role: look, answer or act.
          </p>
          <input
            ref={field}
            id="token"
            type="password"
            autocomplete="current-password"
            aria-invalid={problem !== ''}
            aria-describedby={problem === '' ? 'token-hint' : 'token-problem'}
            value={token}
            onInput={(event) => {
              setToken(event.currentTarget.value)
              setProblem('')
            }}
          />
          {problem !== '' && (
            <p id="token-problem" class="problem" role="alert">
              {problem}
            </p>
          )}
        </div>
        <button type="submit" class="primary" disabled={token.trim() === '' || busy}>
          {busy ? 'Opening …' : 'Open'}
        </button>
        <p class="hint">You stay logged in until you close the browser or log out.</p>
      </form>
    </main>
  )
}

function describeProblem(error: unknown): string {
  if (error instanceof ApiError && error.status === 401)
    return 'Unknown token. Check that you copied the whole token, without the `role=` prefix.'
  return errorText(error)
}
