// Compares an undisturbed history with the same history under kills.
import { isDeepStrictEqual } from 'node:util'
import type { Outcome, Step } from './act.ts'
import { effectsIn } from './ledger.ts'
import { hashOf } from './random.ts'
import type { Looked, Stage } from './stage.ts'

export function difference(act: Step['act'], a: Outcome, b: Outcome): string | undefined {
  // an interrupted prune has already deleted some runs: the remaining runs are compared at the end
  const { message: _, gave: calmGave, ...calm } = a
  const { message, gave, ...wild } = b
  const same = act === 'prune' || isDeepStrictEqual(calmGave, gave)
  if (same && isDeepStrictEqual(calm, wild)) return undefined
  const why = message === undefined ? '' : ` (${message})`
  return `differs: gave ${JSON.stringify(b)}${why}, undisturbed ${JSON.stringify(a)}`
}

/** Checks that both stages have the same runs, outputs, files and effects. */
export async function differentEnds(calm: Stage, wild: Stage): Promise<string[]> {
  const problems: string[] = []
  const compare = (what: string, a: unknown, b: unknown): void => {
    if (!isDeepStrictEqual(a, b))
      problems.push(`differs: ${what}, ${JSON.stringify(b)}, undisturbed ${JSON.stringify(a)}`)
  }
  for (const at of ['here', 'there'] as const) {
    const [a, b] = (await Promise.all([calm.look(at), wild.look(at)])).map(
      (runs) => new Map(runs.map((one) => [one.run, shapeOf(one)])),
    )
    compare(`the runs ${at}`, [...a!.keys()].toSorted(), [...b!.keys()].toSorted())
    for (const [run, shape] of a!) if (b!.has(run)) compare(`run ${run}`, shape, b!.get(run))
  }
  compare('the files', calm.files(), wild.files())
  const [a, b] = [calm, wild].map((stage) => effectsIn(stage.ledger.all()))
  const once = (all: typeof a) =>
    all!.filter(({ effect }) => effect === 'once').map(({ run, path, tool, input }) => hashOf([run, path, tool, input]))
  compare('the once effects', once(a).toSorted(), once(b).toSorted())
  const kinds = (all: typeof a) =>
    [...new Set(all!.map(({ run, path, tool, input }) => JSON.stringify([run, path, tool, input])))].toSorted()
  compare('the effects', kinds(a), kinds(b))
  return problems
}

function shapeOf({ crew, state }: Looked): unknown {
  const tasks = [...state.tasks.values()].map(({ name, status, source, output }) => [name, status, source, output?.raw])
  return [crew, state.status, tasks]
}
