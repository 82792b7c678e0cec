// The runs that this studio executes. A run that waits for people continues here as soon as its last question is
// answered, wherever that happens, so runs started on the page need no worker. A run that another process has executed
// since is left to workers. None of this is stored: when the studio stops, the run is ready for a worker or a resume.
import type { Crew } from '../crew/crew.ts'
import { waitForRun } from '../crew/result/stored-result.ts'
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
  /** Returns the id once the run is stored; its journal reports the progress. Rejects if the call is refused. */
  begin(crew: Crew, started: RunPromise): Promise<string>
  /** Call it after an answer to the run or a child run. Returns whether this studio executes the run. */
  answered(root: string): Promise<boolean>
  /** Resolves when no run is being started or followed. Abort the signal first. */
  idle(): Promise<void>
}

interface OwnRun {
  readonly crew: Crew
  readonly run: string
  /** Lives of the run when this studio suspended it. Undefined while the studio executes it. */
  lives?: number
}

/** Pause before the next look when the store is unavailable. */
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

  /** Watches the run until it continues, here or elsewhere, or waits for nothing. Never rejects. */
  async function keep(own: OwnRun, run: Run): Promise<void> {
    const tree = await run['~unit']().catch(() => undefined)
    if (tree?.state.status !== 'suspended' || !canWake(tree.state)) return forget(own)
    own.lives = tree.state.lives
    while (runs.get(own.run) === own && !signal.aborted)
      await waitForRun(engine, own.run, () => inTurn(own.run, () => look(own)), signal).catch((error: unknown) =>
        isAway(error) ? world.sleep(pauseMs, signal).catch(() => undefined) : forget(own),
      )
  }

  /** Undefined: look again later. */
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
      // up to the task that was requested at the start
      const { through } = (await readRun(store, run)).state
      await begin(crew, crew.run(run).resume({ ...defined({ through }), signal }))
      return 'here'
    } catch (error) {
      // the process that recorded the answer still holds it, or a worker was first: the next look finds out
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
      const outcome = await looked.finally(() => underWay.delete(looked))
      const now = runs.get(root)
      return outcome === 'here' || (now !== undefined && now.lives === undefined)
    },
    async idle() {
      while (underWay.size > 0) await Promise.allSettled(underWay)
    },
  }
}

/** Whether no other process has executed the run since. */
function isUntouched(row: RunRow, { lives }: OwnRun): boolean {
  const summary = readSummary(row)
  return row.status === 'suspended' && summary.lives === lives && !summary.imported
}

function isAway(error: unknown): boolean {
  return RepriseError.isInstance(error) && (error.code === 'STORE_UNAVAILABLE' || error.code === 'OUTCOME_UNKNOWN')
}

/** Models stream only while someone follows the run. Following from the start lets a page that opens later catch up. */
async function followSilently(run: Run): Promise<void> {
  try {
    for await (const _ of run.events());
  } catch {
    // the journal has the error
  }
}
