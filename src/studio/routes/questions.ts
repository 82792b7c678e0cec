// Open questions and their answers.
import { decisions } from '../../read/questions.ts'
import { dueAt } from '../../read/row-summary.ts'
import { readStateIfExists } from '../../read/read-run.ts'
import type { Answer } from '../../journal/entries.ts'
import type { Json } from '../../journal/json.ts'
import { attemptsOnPath, rootRunId } from '../../journal/paths.ts'
import type { RunState } from '../../journal/state/state.ts'
import { readRunTree } from '../../runs/run-view.ts'
import { waitingQuestions, type WaitingQuestion } from '../../runs/waiting-questions.ts'
import type { AnswerResult, Questions } from '../api/contract.ts'
import { answerFields, crewFilter } from '../api/requests.ts'
import type { Routes } from '../api/route.ts'
import { isHere, readRow, type StudioContext } from '../context.ts'

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
      const { questions } = await readRunTree(context.store, runId)
      // if another process executes the run, it records the answer later, and the question still looks open
      const open = questions.filter(({ id }) => id !== question)
      const continues = await findContinuation(context, rootRunId(runId))
      return { runId, question, questions: open, continues }
    },
  },
}

async function readQuestions(context: StudioContext, crew: string | undefined): Promise<Questions> {
  const { questions, unreadable } = await waitingQuestions(context.store, crew)
  const ofTasks = questions.filter(({ kind }) => kind === 'result' || kind === 'call')
  const asking = new Set(ofTasks.map((question) => askingRun(question)))
  const states = new Map<string, RunState | undefined>()
  for (const run of asking) states.set(run, await readStateIfExists(context.store, run).catch(() => undefined))
  return {
    questions: questions.map((question) => {
      const schema = schemaFor(context, question, states.get(askingRun(question)))
      return { ...question, decisions: decisions[question.kind], ...(schema === undefined ? {} : { schema }) }
    }),
    unreadable,
  }
}

/** The run that asks: the run itself, or a child run. */
function askingRun({ asking, runId }: WaitingQuestion): string {
  return asking.at(-1)?.runId ?? runId
}

/**
 * The schema of the value that a person may provide: of a task's output (from the code), or of a call's input (from the
 * journal).
 */
function schemaFor({ shown }: StudioContext, question: WaitingQuestion, state: RunState | undefined): Json | undefined {
  if (question.kind === 'value') return question.schema
  if (!state) return undefined
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
    case 'doubt':
    case 'limit':
      return undefined
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
  const state = await readStateIfExists(context.store, root)
  return state && dueAt(state) !== undefined ? 'worker' : undefined
}
