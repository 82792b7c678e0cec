// What follows the completion of a task or step: output files and the user's callbacks. Both happen at least once:
// after a crash before the journal records them, the resume repeats them.
//
// Output files are written below the working folder. No link may lead out of it: the real path is checked before
// anything is spent, and again right before the file is written.
import { lstatSync, realpathSync, statSync } from 'node:fs'
import { mkdir, rm } from 'node:fs/promises'
import { dirname, join, relative, sep } from 'node:path'
import { messageOf, RepriseError } from '../../base/errors.ts'
import { digest } from '../../journal/hash.ts'
import type { Json } from '../../journal/json.ts'
import type { StoredOutput, Entry } from '../../journal/entries.ts'
import { isMissing, writeDurably } from '../../stores/file/durable-files.ts'
import type { Inputs, TaskDefinition, Callbacks, StepEntry } from '../definition.ts'
import type { RunState } from '../../journal/state/state.ts'
import type { Life } from '../life.ts'
import { returnedCall } from '../../journal/call-entries.ts'
import { taskNameAt } from '../../journal/state/at-path.ts'
import { isStep } from '../../journal/table/entry-table.ts'
import { redact } from '../../secrets/redact.ts'
import { unlessAborted } from '../limits/time.ts'
import { fileReader, readEntries } from '../../read/read-run.ts'

/**
 * Checks, without creating anything, that the output file could be written now. Throws OUTPUT_FILE_FAILED if not, and
 * INPUT_INVALID or INPUT_MISSING if its path cannot be made from the inputs.
 */
export function checkOutputFile(task: TaskDefinition, inputs: Inputs): void {
  if (task.outputFile) realTarget(task, task.outputFile.pathFor(inputs))
}

/**
 * Writes the output files of these tasks, for tasks that this run executed and whose file is not recorded as written.
 * Rejects with OUTPUT_FILE_FAILED.
 */
export async function writeOutputFiles(life: Life, tasks: readonly TaskDefinition[]): Promise<void> {
  if (life.state.effects === 'never') return
  for (const task of tasks) {
    const known = life.state.tasks.get(task.name)
    if (!task.outputFile || known?.source !== 'executed' || !known.output || known.seq === undefined) continue
    if (known.written?.of === known.seq) continue
    const file = task.outputFile.pathFor(life.state.inputs)
    const text = textOf(known.output)
    await life.ready()
    await write(life.state, task, file, text)
    const bytes = Buffer.byteLength(text)
    await life.append([{ type: 'file.written', path: task.name, of: known.seq, file, bytes }])
  }
}

/** Returns the content of the file: plain text as it is, JSON indented. */
function textOf({ raw, structured }: StoredOutput): string {
  return structured ? `${JSON.stringify(JSON.parse(raw) as Json, null, 2)}\n` : raw
}

async function write(state: RunState, task: TaskDefinition, file: string, text: string): Promise<void> {
  try {
    await mkdir(dirname(realTarget(task, file)), { recursive: true })
    // checked again once all folders exist: one of them may have been created as a link meanwhile
    const target = realTarget(task, file)
    // one temporary file per life: a process that wakes up too late writes to its own, and the leftovers of killed
    // processes are known by name
    const temporary = (life: number): string => `${target}.${digest([state.run, task.name])}-${life}.tmp`
    for (let life = 1; life <= state.lives; life++) await rm(temporary(life), { force: true })
    await writeDurably(target, Buffer.from(text), 0o666, temporary(state.lives))
  } catch (error) {
    if (RepriseError.isInstance(error)) throw error
    throw failure(task, file, `could not be written: ${messageOf(error)}`, error)
  }
}

/** Returns the real path to write to. A link to a path inside the working folder is followed; any other is refused. */
function realTarget(task: TaskDefinition, file: string): string {
  const root = realpathSync(process.cwd())
  const parts = file.split('/')
  let folder = root
  for (const [index, part] of parts.entries()) {
    const next = join(folder, part)
    const isLast = index === parts.length - 1
    const real = realPathOf(task, file, next)
    if (real === undefined) {
      if (isLast || task.outputFile?.createDirectory !== false) return join(next, ...parts.slice(index + 1))
      const words = `is in a folder that does not exist, ${next}; create it, or leave out createDirectory: false`
      throw failure(task, file, words)
    }
    if (isOutside(root, real)) {
      throw failure(task, file, `leads out of the working folder ${root}, by a link to ${real}; give another path`)
    }
    if (statSync(real).isDirectory() === isLast) {
      throw failure(
        task,
        file,
        isLast ? 'is a folder; give another path' : `needs a folder where there is a file, ${next}`,
      )
    }
    folder = real
  }
  return folder
}

/** Returns the real path of a file, folder or link; undefined if it doesn't exist. */
function realPathOf(task: TaskDefinition, file: string, path: string): string | undefined {
  try {
    return realpathSync(path)
  } catch (error) {
    if (!isMissing(error)) throw failure(task, file, `cannot be checked: ${messageOf(error)}`, error)
  }
  if (lstatSync(path, { throwIfNoEntry: false }) === undefined) return undefined
  throw failure(task, file, `has a link that leads nowhere, ${path}; remove it, or give another path`)
}

function isOutside(root: string, path: string): boolean {
  const fromRoot = relative(root, path)
  // on Windows, `relative` returns an absolute path for another drive
  return fromRoot === '..' || fromRoot.startsWith(`..${sep}`) || join(root, fromRoot) !== path
}

function failure(task: TaskDefinition, file: string, words: string, cause?: unknown): RepriseError {
  const message = `the output file ${file} of task ${task.name} ${words}`
  return new RepriseError('OUTPUT_FILE_FAILED', message, { task: task.name, cause })
}

// The user's callbacks. An error in a callback fails the run; a resume calls it again.

/** Calls the task callback for each of these tasks that this run completed and has not reported yet. */
export async function callTaskCallbacks(life: Life, tasks: readonly TaskDefinition[]): Promise<void> {
  const { task: callback } = callbacksOf(life)
  for (const task of callback ? tasks : []) {
    const known = life.state.tasks.get(task.name)
    if (known?.source !== 'executed' || known.seq === undefined || known.told === known.seq) continue
    await life.ready()
    await runCallback(
      () => callback?.(life.state, task, fileReader(life.engine.store, life.state)),
      `the callback of task ${task.name}`,
      task.name,
    )
    await life.append([{ type: 'callback.returned', path: task.name, of: known.seq }])
  }
}

/**
 * Calls the step callback for each step that is on disk and not reported yet, one at a time and in the order of the
 * journal. The entry that records this waits for the next append, since an append of its own would double the cost of a
 * step; after a crash before that append, the resume reports the step again.
 */
export async function callOnStep(life: Life, signal: AbortSignal = life.signal): Promise<void> {
  const { step: callback } = callbacksOf(life)
  if (!callback || (life.state.lastStep <= life.reported.seq && !life.reported.failed)) return
  await life.ready()
  await unlessAborted(
    life.queue.steps(() => callForSteps(life, callback)),
    signal,
  )
}

async function callForSteps(life: Life, callback: NonNullable<Callbacks['step']>): Promise<void> {
  const { state, engine, reported } = life
  // once the callback has thrown, the run fails, and no more steps are reported
  if (reported.failed) throw reported.failed.error
  const readFile = fileReader(engine.store, state)
  try {
    // read from the store, since the state may hold steps that are not on disk
    for await (const { entry } of readEntries(engine.store, state.run, reported.seq)) {
      life.signal.throwIfAborted()
      if (isStepEntry(entry)) {
        await runCallback(
          () => callback(state, entry, readFile),
          `onStep at ${returnedCall(entry)?.path ?? entry.path}`,
          taskNameAt(state, entry.path ?? ''),
        )
        life.mark({ type: 'callback.returned', of: entry.seq })
      }
      reported.seq = entry.seq
    }
  } catch (error) {
    reported.failed = { error }
    throw error
  }
}

function isStepEntry(entry: Entry): entry is StepEntry {
  return isStep(entry)
}

export async function callAfterKickoff(life: Life, value?: Json): Promise<void> {
  const { after } = callbacksOf(life)
  if (!after) return
  await life.ready()
  const state = value === undefined ? life.state : { ...life.state, value }
  await runCallback(() => after(state), 'afterKickoff')
}

/** Returns the crew's callbacks. A run with `effects: 'never'` calls none: callbacks may have effects. */
function callbacksOf({ state, crew }: Life): Callbacks {
  return state.effects === 'never' ? {} : (crew.callbacks ?? {})
}

async function runCallback(call: () => unknown, what: string, task?: string): Promise<void> {
  try {
    await call()
  } catch (error) {
    throw new RepriseError('CALLBACK_FAILED', `${what} threw: ${redact(messageOf(error))}`, { task, cause: error })
  }
}
