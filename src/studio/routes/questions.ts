// What waits for people, and their answers.
import { answerQuestion } from '../../engine/inbox/send-message.ts'
import { dueAt } from '../../engine/read/due.ts'
import { readStateIfExists } from '../../engine/read/read-run.ts'
import type { Answer } from '../../journal/entries.ts'
import { rootRunId } from '../../journal/paths.ts'
import { readRunTree } from '../../runs/run-tree.ts'
import type { AnswerResult } from '../api/contract.ts'
import { anything, text, type Routes } from '../api/route.ts'
import { isHere, readRow, type StudioContext } from '../context.ts'
import { questionViews } from '../read/question-views.ts'

export const peopleRoutes: Routes<'GET /questions' | 'POST /runs/{run}/questions/{question}'> = {
  'GET /questions': {
    summary: 'Everything that waits for a person, with all that is needed to decide',
    role: 'look',
    query: { crew: text('only of runs of this crew') },
    handle: ({ place, query }) => questionViews(place, query.crew),
  },
  'POST /runs/{run}/questions/{question}': {
    summary: 'Answer an open question',
    role: 'answer',
    body: {
      fields: {
        decision: text('one of those that the question takes'),
        reason: text('why, for deny and fail'),
        feedback: text('what to do better, for revise'),
        output: anything('what to use instead, for replace'),
        input: anything('what to call the tool with instead, for approve'),
        result: anything('what the tool gave, for use and happened'),
        to: anything('the new limit, for raise'),
        note: text('kept with the answer'),
        by: text('who answers'),
      },
      required: ['decision'],
    },
    async handle({ place, at, body, by }) {
      const [runId, question] = [at('run'), at('question')]
      await postAnswer(place, runId, question, { ...body, ...(by === undefined ? {} : { by }) })
      const { questions } = await readRunTree(place.store, runId)
      // an answer to a run that another process executes is recorded by that process, in its own time
      const open = questions.filter(({ id }) => id !== question)
      const continues = await findContinuation(place, rootRunId(runId))
      return { runId, question, questions: open, continues }
    },
  },
}

/** With the code, whoever else decides who advances runs is told, too. */
async function postAnswer(place: StudioContext, runId: string, question: string, given: Answer): Promise<void> {
  const row = await readRow(place, runId)
  const known = place.crews.get(row.crew)
  if (!known) return answerQuestion(place.engine, runId, question, given)
  const { by, ...decision } = given
  return known.crew.run(runId).answer(question, decision, by === undefined ? {} : { by })
}

/** What works for another run is continued with that. */
async function findContinuation(place: StudioContext, root: string): Promise<AnswerResult['continues']> {
  if ((await place.own.answered(root)) || isHere(place, root)) return 'here'
  const state = await readStateIfExists(place.store, root)
  return state && dueAt(state) !== undefined ? 'worker' : undefined
}
