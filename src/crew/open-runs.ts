// The runs of a store, whichever crews made them: what can be done with them without the crews' code. The command line
// and the studio use it.
import type { SignedBy } from './verbs/shared-options.ts'
import { readSignedBy } from './verbs/shared-options.ts'
import { readEvent, type SendOptions } from './verbs/send.ts'
import type { InputValue } from './arguments/run-inputs.ts'
import type { Answer, Entry, Question } from '../journal/entries.ts'
import { copyEngines, copyRun, type CopiedRun } from '../engine/history/copy-run.ts'
import { deleteRun } from '../engine/history/delete-run.ts'
import { exportRun, exportRunToFile } from '../engine/history/export-run.ts'
import { importRun, importRunFromFile, type ImportedRun, type ImportOptions } from '../engine/history/import-run.ts'
import { answerQuestion, findQuestion, requeue, sendMessage } from '../engine/inbox/send-message.ts'
import { openEngine, realWorld } from '../engine/world.ts'
import { text } from '../base/options.ts'
import { follow, type EventIterator } from '../read/follow.ts'
import { runNotFoundError } from '../read/read-run.ts'
import { checkRunId, lastRun, readSummary } from '../read/row-summary.ts'
import { pruneCrew, type PruneLimits, type PruneResult } from '../runs/prune.ts'
import { viewRun, type RunView } from '../runs/run-view.ts'
import type { Patience } from '../stores/patient-store.ts'
import type { Store } from '../stores/store.ts'
import { openCrewStore } from './open-crew.ts'
import { addedSchedules, removeSchedule, type AddedSchedule } from './queue/added-schedules.ts'

export interface Runs extends AsyncDisposable {
  /** The store. Its calls wait out short outages. */
  readonly store: Store
  /** Returns the handle of a run. Reads nothing. Throws OPTION_INVALID for an invalid id. */
  run(id: string): StoredRun
  /**
   * Imports a run from a file that `export` wrote, or from its lines. Rejects with RUN_EXISTS if the store has another
   * run with that id.
   */
  import(source: string | AsyncIterable<string>, options?: ImportOptions): Promise<ImportedRun>
  /**
   * Deletes the runs of a crew and its backtests, or of all crews, that match every limit. Default status: completed,
   * cancelled and failed.
   */
  prune(crew: string | undefined, limits: PruneLimits): Promise<PruneResult>
  /** Lists the schedules that were added to the store, the next one first. */
  schedules(): Promise<readonly AddedSchedule[]>
  /**
   * Ends a schedule that was added to the store. The runs that it has queued stay. Rejects with RUN_NOT_FOUND if there
   * is no schedule of this name.
   */
  removeSchedule(name: string, options?: SignedBy): Promise<void>
}

/** A run of any crew. Every method rejects with RUN_NOT_FOUND if the run does not exist. */
export interface StoredRun {
  readonly id: string
  /** Reads the current state of the run. Outputs are plain JSON, since no code is loaded that could parse them. */
  view(): Promise<RunView>
  /** Yields the entries of the journal, then new ones, until the run ends or rests. */
  entries(options?: { readonly after?: number; readonly caughtUp?: boolean }): EventIterator<Entry>
  /** Reads an open question. Rejects with QUESTION_NOT_FOUND or QUESTION_ANSWERED. */
  question(id: string): Promise<Question>
  /** Answers an open question. Rejects with ANSWER_INVALID, QUESTION_NOT_FOUND or QUESTION_ANSWERED. */
  answer(question: string, answer: Answer): Promise<void>
  /** Cancels the run, whichever process executes it. Rejects with RUN_ENDED. */
  cancel(options?: SignedBy): Promise<void>
  /** Marks a task to be executed again when the run resumes. Rejects with RUN_ENDED or TASK_NOT_FOUND. */
  invalidate(task: string, options?: SignedBy): Promise<void>
  /**
   * Sends an event to a run of a flow, or to the run that continues it. Rejects with RUN_ENDED, or OPTION_INVALID if
   * the run is not that of a flow.
   */
  send(event: string, value: InputValue, options?: SendOptions): Promise<void>
  /**
   * Hands a stopped, imported, moved or failed run over to workers. Resolves with the id of its root run. Rejects with
   * RUN_ENDED or RUN_HELD.
   */
  requeue(options?: SignedBy): Promise<string>
  /**
   * Deletes the run, its child runs and the runs that continue it. Rejects with RUN_HELD while a process executes it,
   * or with RUN_NEEDED if it continues another run.
   */
  delete(): Promise<void>
  /** Writes the run, its child runs and their files into one file. */
  export(file: string): Promise<void>
  /** Yields the lines that `export` writes. */
  exported(): AsyncIterable<string>
}

/**
 * Opens the runs of a store, given as an object or a URL. Default: REPRISE_STORE, else `.reprise/runs.db`. Rejects with
 * STORE_INVALID or STORE_UNAVAILABLE.
 */
export async function openRuns(
  given?: string | Store,
  patience: Pick<Patience, 'limitMs' | 'onOutage'> = {},
): Promise<Runs> {
  const engine = openEngine(await openCrewStore(given), realWorld(), patience)
  const { store } = engine
  return {
    store,
    run(name) {
      const id = checkRunId(name)
      const send = (message: Parameters<typeof sendMessage>[2]): Promise<void> => sendMessage(engine, id, message)
      return {
        id,
        view: () => viewRun({ store }, id),
        entries: ({ after, caughtUp } = {}) => follow(engine, id, { after, marked: caughtUp }),
        question: (question) => findQuestion(store, id, question),
        answer: (question, answer) => answerQuestion(engine, id, question, answer),
        cancel: async (options = {}) => send({ type: 'cancel', ...readSignedBy('cancel', options) }),
        invalidate: async (task, options = {}) =>
          send({ type: 'invalidate', task, ...readSignedBy('invalidate', options) }),
        async send(event, value, options = {}) {
          const row = await store.row(id)
          if (!row) throw runNotFoundError(store, id)
          const { flow, chat } = readSummary(row)
          const to = { run: id, name: row.crew, flow, chat }
          const message = readEvent(to, event, value, options, engine.world.newRunId)
          await sendMessage(engine, await lastRun(store, id), message)
        },
        requeue: async (options = {}) => requeue(engine, id, readSignedBy('requeue', options)),
        delete: () => deleteRun(engine, id),
        async export(file) {
          text.read('the file to export to', file)
          await exportRunToFile(store, id, file)
        },
        exported: () => exportRun(store, id),
      }
    },
    import: (source, options) =>
      typeof source === 'string' ? importRunFromFile(engine, source, options) : importRun(engine, source, options),
    prune: (crew, limits) => pruneCrew(engine, crew, limits),
    schedules: () => addedSchedules(store),
    removeSchedule: async (name, options = {}) => removeSchedule(engine, name, readSignedBy('removeSchedule', options)),
    [Symbol.asyncDispose]: () => store.close(),
  }
}

/** Copies or moves a run with its child runs. */
export type RunCopier = (run: string, dryRun: boolean) => Promise<CopiedRun>

export function runCopier(from: Store, to: Store): RunCopier {
  const engines = copyEngines(from, to)
  return (run, dryRun) => copyRun(engines, run, dryRun)
}
