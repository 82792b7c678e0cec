// What must hold in every history, whatever was killed, edited or sent.
import { isDeepStrictEqual } from 'node:util'
import type { RunResult } from 'reprise'
import { buildFlow } from './build-flow.ts'
import { idealValue } from './ideal.ts'
import { resultOf, saidOf, stampOf, textOf } from './interpret.ts'
import { read, type Delivery, type Journal, type Reading } from './journal.ts'
import { isIndependent, type Block, type RequestNode } from './program.ts'
import { mostMs, programOf, root, type Pass, type Scene } from './scene.ts'

/** Everything that a flow received is in its journal, and reading the journal delivers it in the same order. */
export async function checkPasses(scene: Scene): Promise<void> {
  for (const pass of scene.passes) {
    const { run } = pass
    const program = programOf(scene, run)
    if (!program) continue
    const { deliveries } = await readRun(scene, run, program)
    const kept = untouched(pass, scene.journal(run))
    if (isPrefix(kept, deliveries)) continue
    const words = `run ${run}: a process received ${kept.join(' | ')}; the next one receives ${deliveries.join(' | ')}`
    scene.problems.add(words)
  }
}

function readRun(scene: Scene, run: string, program: Block): Promise<Reading> {
  return read(program, scene.journal(run), (path) => scene.chances.get(`${run} ${path}`) ?? '?')
}

/** What the pass received before the first result that has since been changed or invalidated. */
function untouched({ after, deliveries }: Pass, { touches }: Journal): readonly Delivery[] {
  const touched = new Set(touches.flatMap(({ seq, paths }) => (seq > after ? paths : [])))
  const first = deliveries.findIndex(([path]) => touched.has(path))
  return first < 0 ? deliveries : deliveries.slice(0, first)
}

function isPrefix(start: readonly Delivery[], whole: readonly Delivery[]): boolean {
  return start.every((delivery, index) => isDeepStrictEqual(delivery, whole[index]))
}

/** Checks that another process reads the same result. */
export async function checkReadElsewhere(scene: Scene, result: RunResult): Promise<void> {
  const process = scene.start()
  const elsewhere = buildFlow({ scene, process, concurrency: 1, version: '1' }).run(root).result()
  await scene.time.passUntil(elsewhere, mostMs)
  const [here, there] = [result, await elsewhere].map((one) => JSON.stringify(one))
  await process.end()
  if (here !== there) scene.problems.add(`the result is ${here} here, and ${there} elsewhere`)
}

/** Checks a run that has ended. */
export async function checkEnd(scene: Scene): Promise<void> {
  const { problems, journals, program } = scene
  for (const [run, journal] of journals()) {
    const body = programOf(scene, run)
    if (body) await checkRun(scene, run, body, journal)
  }
  const journal = scene.journal(root)
  const { status, isTouched } = journal
  if (status !== 'completed') return
  // an edit of a step in progress leaves its child run as it is
  for (const [run, child] of isTouched ? [] : journals())
    if (!['completed', 'cancelled', 'failed'].includes(child.status)) problems.add(`run ${run} is left ${child.status}`)
  await checkResumed(scene, journal)
  if (isTouched || !isIndependent(program)) return
  const ideal = await idealValue(program, journal.given)
  if (journal.value !== ideal) problems.add(`the value is ${textOf(journal.value)}, not ${ideal}`)
}

/** Checks that the value and all recorded work follow from the journal. */
async function checkRun(scene: Scene, run: string, program: Block, journal: Journal): Promise<void> {
  const { problems } = scene
  const { status, value, isTouched, steps } = journal
  checkEvents(scene, journal)
  if (journal.early.length > 0) problems.add(`run ${run}: waits ended early: ${journal.early.join()}`)
  if (!isTouched && journal.restarted.length > 0)
    problems.add(`run ${run}: executed again without a reason: ${journal.restarted.join()}`)
  if (status !== 'completed') return
  const { end, requested } = await readRun(scene, run, program)
  if (!end || !('value' in end) || end.value !== value)
    problems.add(`run ${run} has the value ${textOf(value)}; its journal gives ${JSON.stringify(end)}`)
  const left = [...steps.keys()].filter((path) => !requested.has(path)).toSorted()
  if (!isDeepStrictEqual(left, journal.left.toSorted()))
    problems.add(`run ${run}: left are ${left.join()}, not ${journal.left.join()}`)
  for (const [path, { node, key, input, after }] of requested) {
    const step = steps.get(path)
    if (step?.after === undefined) continue
    if (!isTouched && step.after !== after)
      problems.add(`run ${run}: step ${path} was requested after ${step.after}, and is now after ${after}`)
    const made = step.result && 'value' in step.result && !step.isGiven ? step.result.value : undefined
    const expected = expectedResult(node, key, input)
    if (made !== undefined && expected !== undefined && textOf(made) !== expected)
      problems.add(`run ${run}: step ${path} has the result ${textOf(made)}, of another input than ${input}`)
  }
}

function expectedResult(node: RequestNode, key: string, input: string): string | undefined {
  if (node.type === 'step') return textOf(resultOf(node, key, input))
  return node.type === 'crew' ? stampOf(saidOf(input)) : undefined
}

/** Checks that a resume of a completed run executes nothing and returns the same value. */
async function checkResumed(scene: Scene, { entries, value }: Journal): Promise<void> {
  const process = scene.start()
  const resumed = buildFlow({ scene, process, concurrency: 1, version: '3' }).resume(root)
  await scene.time.passUntil(resumed, mostMs)
  const { output, questions } = await resumed
  await process.end()
  if (questions.length > 0) scene.problems.add('a completed run has open questions')
  if (output !== value || scene.journal(root).entries !== entries)
    scene.problems.add('a resume changes a completed run')
}

/** Checks that each event is received at most once, in the order of sending, by the step that has waited longest. */
function checkEvents({ problems }: Scene, { events, takenEvents, steps, isTouched }: Journal): void {
  const ids = [...events.values()].flatMap(({ id }) => id ?? [])
  if (new Set(ids).size < ids.length) problems.add(`events were received twice: ${ids.join()}`)
  if (new Set(takenEvents).size < takenEvents.length) problems.add('an event was given to two steps')
  for (const name of new Set([...events.values()].map((event) => event.name))) {
    const taken = takenEvents.filter((seq) => events.get(seq)?.name === name)
    if (
      !isDeepStrictEqual(
        taken,
        taken.toSorted((a, b) => a - b),
      )
    )
      problems.add(`events ${name} are out of order`)
    const waits = [...steps.values()].filter(({ event = 0 }) => events.get(event)?.name === name)
    const received = waits.toSorted((a, b) => (a.started ?? 0) - (b.started ?? 0)).map(({ event = 0 }) => event)
    if (!isTouched && !isDeepStrictEqual(received, taken))
      problems.add(`a later wait received an earlier event ${name}`)
  }
}
