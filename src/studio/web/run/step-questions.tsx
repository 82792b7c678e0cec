// What people were asked about a call, and what they decided.
import type { JSX } from 'preact'
import { longTime } from '../../../text/words.ts'
import type { ToolStep } from '../../api/contract.ts'

export function StepQuestions({ questions }: Pick<ToolStep, 'questions'>): JSX.Element | null {
  if (questions.length === 0) return null
  return (
    <section>
      <h3>Decisions</h3>
      {questions.map(({ question, askedAt, answer }) => (
        <div key={question.id} class="decision">
          <p>{question.text}</p>
          <p class="soft">
            {longTime(askedAt)}:{' '}
            {answer ? (
              <>
                <strong>{answer.decision}</strong>
                {answer.by !== undefined && ` by ${answer.by}`}
                {'reason' in answer && `: ${answer.reason}`}
                {answer.note !== undefined && ` (${answer.note})`}
              </>
            ) : (
              'not answered yet'
            )}
          </p>
        </div>
      ))}
    </section>
  )
}
