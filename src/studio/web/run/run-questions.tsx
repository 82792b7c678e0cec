// The questions of a run, answered on its own page.
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import type { RunDetail } from '../../api/contract.ts'
import { call } from '../api/client.ts'
import { useResource } from '../api/resource.ts'
import { QuestionDetail } from '../waiting/question-detail.tsx'

export function RunQuestions({ detail }: { readonly detail: RunDetail }): JSX.Element {
  const [open, setOpen] = useState(false)
  const { questions } = detail
  const words = questions.length === 1 ? '1 question waits' : `${questions.length} questions wait`
  return (
    <section class="run-questions" aria-label="Open questions">
      <div class="asks-bar">
        <span>{words} for a person.</span>
        <button type="button" aria-expanded={open} onClick={() => setOpen(!open)}>
          {open ? 'Not now' : 'Answer here'}
        </button>
      </div>
      {open && <Questions runId={detail.runId} crew={detail.crew} />}
    </section>
  )
}

function Questions({ runId, crew }: { readonly runId: string; readonly crew: string }): JSX.Element | null {
  const { value } = useResource(`questions of ${crew}`, (signal) => call('GET /questions', { query: { crew }, signal }))
  const [question] = value?.questions.filter((each) => each.runId === runId) ?? []
  return question ? <QuestionDetail key={question.id} question={question} onAnswered={() => {}} /> : null
}
