// Judges a model's final answer before it becomes the task's output: by the schema, the guardrails in order, and a
// person. Each may send the answer back. A guardrail whose verdict is in the journal is not asked again.
import { defined } from '../../base/defined.ts'
import type { NewEntry } from '../../journal/entries.ts'
import { plainInputs } from '../../journal/files.ts'
import { guardrailIdempotencyKey } from '../calls/idempotency-key.ts'
import type { GuardrailDefinition } from '../definition.ts'
import type { ActiveAttempt } from '../life.ts'
import { fileReader } from '../read/run-files.ts'
import { parsedOutput } from '../run/task-context.ts'
import { runCode, uncountedField } from '../task/function-call.ts'
import { askJudge, type JudgeVerdict } from './ask-judge.ts'
import { reviewByPerson } from './ask-person.ts'
import { checkOutput } from './check-output.ts'
import type { Verdict } from './verdict.ts'

export async function judgeOutput(work: ActiveAttempt, text: string, finish: string): Promise<Verdict> {
  const { life, attempt, task } = work
  const answer = await checkOutput(task, text, finish)
  if (!answer.accepted) return { status: 'refused', by: 'schema', reason: answer.reason, entries: [] }
  let { raw } = answer
  let entries: NewEntry[] = []
  for (const [index, guardrail] of task.guardrails.entries()) {
    const known = attempt.accepted[index]
    // a model's verdict refers to the answer as recorded, so record what earlier guardrails made of it
    if (!known && 'sentence' in guardrail && entries.length > 0) {
      await life.append(entries)
      entries = []
    }
    const what = `guardrail ${guardrail.name} of task ${task.name}`
    const code = { life, what, uncounted: new Set<string>() }
    const verdict = known
      ? { accepted: true as const, ...known }
      : await runCode(code, () => askGuardrail(work, guardrail, index, raw))
    if (!verdict.accepted) return { status: 'refused', by: guardrail.name, reason: verdict.reason, entries }
    raw = verdict.raw ?? raw
    if (known) continue
    entries.push({
      type: 'guardrail.judged',
      path: attempt.path,
      guardrail: guardrail.name,
      verdict: 'accepted',
      ...defined({ raw: verdict.raw }),
      ...uncountedField(code),
    })
  }
  return reviewByPerson(work, { raw, structured: task.schema !== undefined }, entries)
}

async function askGuardrail(
  work: ActiveAttempt,
  guardrail: GuardrailDefinition,
  index: number,
  raw: string,
): Promise<JudgeVerdict> {
  const { task, life, attempt, signal } = work
  if ('sentence' in guardrail) return askJudge(work, guardrail.sentence, index, raw)
  const { state, engine } = life
  return guardrail.judge({
    raw,
    output: await parsedOutput({ raw, structured: task.schema !== undefined }, task),
    inputs: plainInputs(state.inputs),
    task: task.name,
    runId: state.run,
    signal,
    idempotencyKey: guardrailIdempotencyKey(state, attempt, [guardrail.name, index, raw]),
    readFile: fileReader(engine.store, state),
  })
}
