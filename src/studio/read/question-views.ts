// What waits for people, with the decisions that can be made and the schema of what may be put in place of something.
import { decisions } from '../../engine/inbox/questions.ts'
import { readStateIfExists } from '../../engine/read/read-run.ts'
import type { Json } from '../../journal/json.ts'
import { attemptsOnPath } from '../../journal/paths.ts'
import type { RunState } from '../../journal/state/state.ts'
import { waitingQuestions, type WaitingQuestion } from '../../runs/waiting-questions.ts'
import type { Questions } from '../api/contract.ts'
import type { StudioContext } from '../context.ts'

export async function questionViews(place: StudioContext, crew: string | undefined): Promise<Questions> {
  const { questions, unreadable } = await waitingQuestions(place.store, crew)
  const asking = new Set(questions.map((question) => askingRun(question)))
  const states = new Map<string, RunState | undefined>()
  for (const run of asking) states.set(run, await readStateIfExists(place.store, run).catch(() => undefined))
  return {
    questions: questions.map((question) => {
      const schema = schemaFor(place, question, states.get(askingRun(question)))
      return { ...question, decisions: decisions[question.kind], ...(schema === undefined ? {} : { schema }) }
    }),
    unreadable,
  }
}

/** The run that asks: the one itself, or that of a task. */
function askingRun({ asking, runId }: WaitingQuestion): string {
  return asking.at(-1)?.runId ?? runId
}

/** Of what a person may give instead: the output of a task, or the input of a call. The journal has the second. */
function schemaFor({ shown }: StudioContext, question: WaitingQuestion, state: RunState | undefined): Json | undefined {
  if (!state) return undefined
  switch (question.kind) {
    case 'result': {
      const task = question.asking.at(-1)?.task
      return shown.get(state.crew)?.definition.tasks.find(({ name }) => name === task)?.schema?.json
    }
    case 'call': {
      // the id of a question within a run of a task is not its path there
      const asked = [...state.unanswered].find(
        (one) => one.question.kind === 'call' && one.question.key === question.key,
      )
      const attempt = state.attempts.get(attemptsOnPath(asked?.question.path ?? '').at(-1) ?? '')
      return attempt?.request.tools.find(({ name }) => name === question.tool)?.schema
    }
    case 'doubt':
    case 'limit':
      return undefined
  }
}
