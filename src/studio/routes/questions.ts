// Open questions and their answers.
import { decisions } from '../../read/questions.ts'
import { dueAt } from '../../read/row-summary.ts'
import { ifExists } from '../../read/read-run.ts'
import type { Answer } from '../../journal/entries.ts'
import type { Json } from '../../journal/json.ts'
import { attemptsOnPath, rootRunId } from '../../journal/paths.ts'
import type { RunState } from '../../journal/state/state.ts'
import { waitingQuestions, type WaitingQuestion } from '../../runs/waiting-questions.ts'
import type { AnswerResult, Questions } from '../api/contract.ts'
import { answerFields, crewFilter } from '../api/requests.ts'
import type { Routes } from '../api/route.ts'
import { isHere, readRow, useRunTree, type StudioContext } from '../context.ts'

export const questionRoutes: Routes<'GET /questions' | 'POST /runs/{run}/questions/{question}'> = {
  'GET /questions': {
    summary: 'List open questions with everything needed to decide them',
    role: 'look',
    query: crewFilter,
    handle: ({ context, query }) => readQuestions(context, query.crew),
  },
  'POST /runs/{run}/questions/{question}': {
    summary: 'Answer an open question',
    role: 'answer',
    body: answerFields,
    async handle({ context, param, body, by }) {
      const [runId, question] = [param('run'), param('question')]
      // the library checks the fields of the decision
      await postAnswer(context, runId, question, { ...body, ...(by === undefined ? {} : { by }) } as Answer)
      const questions = await useRunTree(context, runId, (tree) => tree.questions)
      // if another process executes the run, it records the answer later, and the question still looks open
      const open = questions.filter(({ id }) => id !== question)
      const continues = await findContinuation(context, rootRunId(runId))
      return { runId, question, questions: open, continues }
    },
  },
}

async function readQuestions(context: StudioContext, crew: string | undefined): Promise<Questions> {
  const { questions, unreadable } = await waitingQuestions(context.store, crew, (run) =>
    useRunTree(context, run, (tree) => tree.questions),
  )
  const withSchemas = questions.map(async (question) => {
    const schema = await schemaOf(context, question)
    return { ...question, decisions: decisions[question.kind], ...(schema === undefined ? {} : { schema }) }
  })
  return { questions: await Promise.all(withSchemas), unreadable }
}

/**
 * The schema of the value that a person may provide: of a task's output (from the code), or of a call's input (from the
 * journal).
 */
async function schemaOf({ shown, cache }: StudioContext, question: WaitingQuestion): Promise<Json | undefined> {
  if (question.kind === 'value') return question.schema
  if (question.kind !== 'result' && question.kind !== 'call') return undefined
  // the run itself, or a child run
  const run = question.asking.at(-1)?.runId ?? question.runId
  return cache.use(run, (state) => schemaIn(shown, question, state)).catch(() => undefined)
}

function schemaIn(
  shown: StudioContext['shown'],
  question: Extract<WaitingQuestion, { kind: 'result' | 'call' }>,
  state: RunState,
): Json | undefined {
  switch (question.kind) {
    case 'result': {
      const task = question.asking.at(-1)?.task
      return shown.get(state.crew)?.description.tasks.find(({ name }) => name === task)?.schema
    }
    case 'call': {
      // the root run and a child run have different ids for a question, but the same key
      const found = [...state.unanswered].find(
        (one) => one.question.kind === 'call' && one.question.key === question.key,
      )
      const attempt = state.attempts.get(attemptsOnPath(found?.question.path ?? '').at(-1) ?? '')
      return attempt?.request.tools.find(({ name }) => name === question.tool)?.schema
    }
  }
}

/** Posts an answer. If the code of the crew is loaded, its dispatcher wakes the run. */
async function postAnswer(context: StudioContext, runId: string, question: string, answer: Answer): Promise<void> {
  const row = await readRow(context, runId)
  const loaded = context.crews.get(row.crew)
  if (!loaded) return context.runs.run(runId).answer(question, answer)
  const { by, ...decision } = answer
  return loaded.crew.run(runId).answer(question, decision, by === undefined ? {} : { by })
}

async function findContinuation(context: StudioContext, root: string): Promise<AnswerResult['continues']> {
  if ((await context.own.resumeIfAnswered(root)) || isHere(context, root)) return 'here'
  const due = await ifExists(context.cache.use(root, dueAt))
  return due === undefined ? undefined : 'worker'
}
