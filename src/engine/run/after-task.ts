// Writes the outputs of tasks to files below the working folder. Like callbacks, after the completion of a task and at
// least once: after a crash before the mark is on disk, the resume writes it again and removes what was half written.
// No link leads out: the real path is checked before anything is spent, and again right before the file is written.
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
 * OUTPUT_FILE_FAILED when the file could not be written as the disk is now; INPUT_INVALID, INPUT_MISSING. Nothing is
 * created.
 */
export function checkOutputFile(task: TaskDefinition, inputs: Inputs): void {
  if (task.outputFile) placeOf(task, task.outputFile.pathFor(inputs))
}

/**
 * Writes the output of each of these tasks that was executed here, has a file, and is not marked as written.
 * OUTPUT_FILE_FAILED.
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

/** The text itself; JSON as people read it. */
function textOf({ raw, structured }: StoredOutput): string {
  return structured ? `${JSON.stringify(JSON.parse(raw) as Json, null, 2)}\n` : raw
}

async function write(state: RunState, task: TaskDefinition, file: string, text: string): Promise<void> {
  try {
    await mkdir(dirname(placeOf(task, file)), { recursive: true })
    // again, now that all of its folders exist: what was created in between may be a link
    const place = placeOf(task, file)
    // one per life, so that a process that wakes up too late has its own, and what a kill left behind is found
    const temporary = (life: number): string => `${place}.${digest([state.run, task.name])}-${life}.tmp`
    for (let life = 1; life <= state.lives; life++) await rm(temporary(life), { force: true })
    await writeDurably(place, Buffer.from(text), 0o666, temporary(state.lives))
  } catch (error) {
    if (RepriseError.isInstance(error)) throw error
    throw failure(task, file, `could not be written: ${messageOf(error)}`, error)
  }
}

/** The real path to write to. A link to a place inside the working folder is followed; any other is refused. */
function placeOf(task: TaskDefinition, file: string): string {
  const root = realpathSync(process.cwd())
  const parts = file.split('/')
  let folder = root
  for (const [index, part] of parts.entries()) {
    const next = join(folder, part)
    const last = index === parts.length - 1
    const real = realPathOf(task, file, next)
    if (real === undefined) {
      if (last || task.outputFile?.createDirectory !== false) return join(next, ...parts.slice(index + 1))
      const words = `is in a folder that does not exist, ${next}; create it, or leave out createDirectory: false`
      throw failure(task, file, words)
    }
    if (isOutside(root, real)) {
      throw failure(task, file, `leads out of the working folder ${root}, by a link to ${real}; give another path`)
    }
    if (statSync(real).isDirectory() === last) {
      throw failure(
        task,
        file,
        last ? 'is a folder; give another path' : `has a file where a folder is needed, ${next}`,
      )
    }
    folder = real
  }
  return folder
}

/** Undefined where nothing exists. */
function realPathOf(task: TaskDefinition, file: string, path: string): string | undefined {
  try {
    return realpathSync(path)
  } catch (error) {
    if (!isMissing(error)) throw failure(task, file, `cannot be looked at: ${messageOf(error)}`, error)
  }
  if (lstatSync(path, { throwIfNoEntry: false }) === undefined) return undefined
  throw failure(task, file, `has a link that leads nowhere, ${path}; remove it, or give another path`)
}

function isOutside(root: string, path: string): boolean {
  const way = relative(root, path)
  // on Windows, a path on another drive comes back absolute
  return way === '..' || way.startsWith(`..${sep}`) || join(root, way) !== path
}

function failure(task: TaskDefinition, file: string, words: string, cause?: unknown): RepriseError {
  const message = `the output file ${file} of task ${task.name} ${words}`
  return new RepriseError('OUTPUT_FILE_FAILED', message, { task: task.name, cause })
}

// Tells the user's code what happened in a run. What it throws fails the run; a resume calls it again.

/**
 * Calls back for each of these tasks that was completed here and not yet reported, also for one completed right before
 * a crash.
 */
export async function callTaskCallbacks(life: Life, tasks: readonly TaskDefinition[]): Promise<void> {
  const { task: tell } = callbacksOf(life)
  for (const task of tell ? tasks : []) {
    const known = life.state.tasks.get(task.name)
    if (known?.source !== 'executed' || known.seq === undefined || known.told === known.seq) continue
    await life.ready()
    await runCallback(
      () => tell?.(life.state, task, fileReader(life.engine.store, life.state)),
      `the callback of task ${task.name}`,
      task.name,
    )
    await life.append([{ type: 'callback.returned', path: task.name, of: known.seq }])
  }
}

/**
 * Calls back for each step that is on disk and not yet reported, one at a time and in the order of the journal. The
 * mark goes with the next append, since its own append would double what a step costs: after a crash before that, the
 * resume reports the step again.
 */
export async function callOnStep(life: Life, signal: AbortSignal = life.signal): Promise<void> {
  const { step: tell } = callbacksOf(life)
  if (!tell || (life.state.lastStep <= life.told.seq && !life.told.failed)) return
  await life.ready()
  await unlessAborted(
    life.queue.steps(() => callForSteps(life, tell)),
    signal,
  )
}

async function callForSteps(life: Life, tell: NonNullable<Callbacks['step']>): Promise<void> {
  const { state, engine, told } = life
  // when one has thrown the run fails, and nothing more is reported
  if (told.failed) throw told.failed.error
  const readFile = fileReader(engine.store, state)
  try {
    // from the store, where only what is on disk is found
    for await (const { entry } of readEntries(engine.store, state.run, told.seq)) {
      life.signal.throwIfAborted()
      if (isStepEntry(entry)) {
        await runCallback(
          () => tell(state, entry, readFile),
          `onStep at ${returnedCall(entry)?.path ?? entry.path}`,
          taskNameAt(state, entry.path ?? ''),
        )
        life.mark({ type: 'callback.returned', of: entry.seq })
      }
      told.seq = entry.seq
    }
  } catch (error) {
    told.failed = { error }
    throw error
  }
}

function isStepEntry(entry: Entry): entry is StepEntry {
  return isStep(entry)
}

export async function callAfterKickoff(life: Life): Promise<void> {
  const { after } = callbacksOf(life)
  if (!after) return
  await life.ready()
  await runCallback(() => after(life.state), 'afterKickoff')
}

/** A run that changes nothing outside is not reported: nothing has happened. */
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
