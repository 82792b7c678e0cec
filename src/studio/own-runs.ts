// The runs that this studio executes. One that waits for people is continued here as soon as it has all of its answers,
// wherever they were given: whoever started it here need not have a worker. Once another process has executed it, it
// is left to workers, as any other. Nothing of this is kept anywhere: when the studio is gone, the run is ready for
// whoever comes next.
import type { Crew } from '../crew/crew.ts'
import { waitForRun } from '../crew/result/wait-for-run.ts'
import type { Run, RunPromise } from '../crew/run.ts'
import { defined } from '../base/defined.ts'
import type { Engine } from '../engine/definition.ts'
import { canWake, isWoken } from '../engine/read/due.ts'
import { readRun } from '../engine/read/read-run.ts'
import { readSummary } from '../engine/read/row-summary.ts'
import { messageOf, RepriseError } from '../base/errors.ts'
import { countOpenQuestions } from '../runs/summary.ts'
import { redact } from '../secrets/redact.ts'
import { seriallyByName } from '../base/serially.ts'
import type { RunRow } from '../stores/store.ts'

export interface OwnRuns {
  /** Gives the id when the run is on disk. How it goes is in its journal. Rejects when the call is refused. */
  begin(crew: Crew, started: RunPromise): Promise<string>
  /** After something was recorded in a run, or in one that works for it: whether this studio executes it. */
  answered(root: string): Promise<boolean>
  /** Resolves when nothing is begun any more. The signal has to be aborted first. */
  idle(): Promise<void>
}

interface OwnRun {
  readonly crew: Crew
  readonly run: string
  /** How many it has had when this studio left it; undefined while the studio executes it. */
  lives?: number
}

/** How long it is left alone when the store is away. */
const pauseMs = 1_000

export function ownRuns(engine: Engine, signal: AbortSignal): OwnRuns {
  const { store, world } = engine
  const runs = new Map<string, OwnRun>()
  const inTurn = seriallyByName()
  const underWay = new Set<Promise<unknown>>()

  async function begin(crew: Crew, started: RunPromise): Promise<string> {
    const run = await started.started
    const own: OwnRun = { crew, run: run.id }
    runs.set(run.id, own)
    void followSilently(run)
    const kept = keep(own, run).finally(() => underWay.delete(kept))
    underWay.add(kept)
    return run.id
  }

  /** Until it is continued here, or by others, or has nothing to wait for. Never rejects. */
  async function keep(own: OwnRun, run: Run): Promise<void> {
    const unit = await run['~unit']().catch(() => undefined)
    if (unit?.state.status !== 'suspended' || !canWake(unit.state)) return forget(own)
    own.lives = unit.state.lives
    while (runs.get(own.run) === own && !signal.aborted)
      await waitForRun(engine, own.run, () => inTurn(own.run, () => look(own)), signal).catch((error: unknown) =>
        isAway(error) ? world.sleep(pauseMs, signal).catch(() => undefined) : forget(own),
      )
  }

  /** Undefined: it is to be looked at again. */
  async function look(own: OwnRun): Promise<'here' | 'left' | undefined> {
    if (signal.aborted || runs.get(own.run) !== own) return 'left'
    if (own.lives === undefined) return undefined
    const row = await store.row(own.run)
    if (!row || !isUntouched(row, own)) {
      forget(own)
      return 'left'
    }
    if (!isWoken(readSummary(row)) || (await countOpenQuestions(store, row)) > 0) return undefined
    return continued(own)
  }

  async function continued(own: OwnRun): Promise<'here' | 'left' | undefined> {
    const { crew, run } = own
    try {
      // as far as whoever started it wanted it to go
      const { through } = (await readRun(store, run)).state
      await begin(crew, crew.run(run).resume({ ...defined({ through }), signal }))
      return 'here'
    } catch (error) {
      // whoever recorded the answer still has it, or a worker was first: the next look tells
      if (RepriseError.isInstance(error) && error.code === 'RUN_HELD') return undefined
      if (isAway(error)) throw error
      forget(own)
      const why = redact(messageOf(error))
      crew['~open'].definition.logger.warn(`run ${run} has its answers, but the studio cannot continue it: ${why}`)
      return 'left'
    }
  }

  function forget(own: OwnRun): void {
    if (runs.get(own.run) === own) runs.delete(own.run)
  }

  return {
    begin,
    async answered(root) {
      const own = runs.get(root)
      if (!own) return false
      const looked = inTurn(root, () => look(own)).catch(() => undefined)
      underWay.add(looked)
      const said = await looked.finally(() => underWay.delete(looked))
      const now = runs.get(root)
      return said === 'here' || (now !== undefined && now.lives === undefined)
    },
    async idle() {
      while (underWay.size > 0) await Promise.allSettled(underWay)
    },
  }
}

/** Whether nobody has taken it up since. */
function isUntouched(row: RunRow, { lives }: OwnRun): boolean {
  const said = readSummary(row)
  return row.status === 'suspended' && said.lives === lives && !said.imported
}

function isAway(error: unknown): boolean {
  return RepriseError.isInstance(error) && (error.code === 'STORE_UNAVAILABLE' || error.code === 'OUTCOME_UNKNOWN')
}

/** A model is only asked to speak while somebody listens: whoever opens the page later hears it from the beginning. */
async function followSilently(run: Run): Promise<void> {
  try {
    for await (const _ of run.events());
  } catch {
    // what goes wrong is in the journal, or with whoever reads it
  }
}
