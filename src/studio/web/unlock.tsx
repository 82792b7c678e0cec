// A studio that isn't on the same machine asks for a token first.
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { unlock } from './api/studio-session.ts'
import { wordsOf } from './parts/states.tsx'

export function Unlock(): JSX.Element {
  const [token, setToken] = useState('')
  const [problem, setProblem] = useState('')
  return (
    <main class="unlock">
      <form
        class="panel form"
        onSubmit={(event) => {
          event.preventDefault()
          unlock(token.trim()).catch((error: unknown) => setProblem(wordsOf(error)))
        }}
      >
        <h1>Reprise studio</h1>
        <div class="field">
          <label for="token">Token</label>
          <p class="hint">Whoever started the studio has it: reprise studio prints it.</p>
          <input
            id="token"
            type="password"
            autocomplete="current-password"
            value={token}
            onInput={(event) => setToken(event.currentTarget.value)}
          />
        </div>
        {problem !== '' && (
          <p class="problem" role="alert">
            {problem}
          </p>
        )}
        <button type="submit" class="primary" disabled={token.trim() === ''}>
          Open
        </button>
      </form>
    </main>
  )
}
