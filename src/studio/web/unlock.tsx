// A studio that has tokens asks for one first, and again when the one that was given holds no more.
import type { JSX } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { ApiError } from './api/client.ts'
import { lockedOut, unlock } from './api/studio-session.ts'
import { Brand } from './parts/brand.tsx'
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
      setProblem(problemWords(error))
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
            Your token holds no more: the studio has others now, or you have logged out. What you were looking at comes
            back with the right one.
          </p>
        )}
        <div class="field">
          <label for="token">Token</label>
          <p id="token-hint" class="hint">
            Ask whoever started the studio: it is the one after <code>--token</code>, or in{' '}
            <code>REPRISE_STUDIO_TOKEN</code>. It decides whether you may look, answer or act.
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
        <p class="hint">This browser keeps it until it is closed or you log out.</p>
      </form>
    </main>
  )
}

function problemWords(error: unknown): string {
  if (error instanceof ApiError && error.status === 401)
    return 'The studio has no such token. Look whether all of it was copied, without the role before it.'
  return errorText(error)
}
