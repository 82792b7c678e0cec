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
      {open && <Questions detail={detail} />}
    </section>
  )
}

function Questions({ detail }: { readonly detail: RunDetail }): JSX.Element | null {
  const { runId, caller } = detail
  // what it asks that works for another run is asked by that one, which may be of any crew
  const query = caller === undefined ? { crew: detail.crew } : {}
  const { value } = useResource(`questions of ${runId}`, (signal) => call('GET /questions', { query, signal }))
  const [question] = value?.questions.filter(({ asking }) => asking.some((each) => each.runId === runId)) ?? []
  return question ? <QuestionDetail key={question.id} question={question} onAnswered={() => {}} /> : null
}
