// Edits a task's output in the person's editor. The file with a changed text stays until the text was used.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { OutputTarget } from './inputs.ts'
import { shellWord } from '../../text/words.ts'
import { readRun } from '../../read/read-run.ts'
import { messageOf } from '../../base/errors.ts'
import type { Store } from '../../stores/store.ts'
import { UsageError } from '../exit-codes.ts'
import { canAsk } from './ask-line.ts'

export interface EditedText {
  readonly text: string
  readonly path: string
  /** Deletes the file. Call it once the text was used. */
  discard(): void
}

/** Rejects with a UsageError if there is no terminal or editor, if the editor fails, or if nothing was changed. */
export async function editOutput(store: Store, run: string, task: OutputTarget): Promise<EditedText> {
  const editor = editorCommand(task)
  const before = await outputText(store, run, task)
  const path = join(mkdtempSync(join(tmpdir(), 'reprise-')), task.schema ? 'output.json' : 'output.txt')
  writeFileSync(path, before, { mode: 0o600 })
  const discard = (): void => rmSync(dirname(path), { recursive: true, force: true })
  // the editor needs the terminal, even if the standard output is a file
  const out = process.stdout.isTTY ? 1 : 2
  const { status, error } = spawnSync(`${editor} ${shellWord(path)}`, { shell: true, stdio: [0, out, 2] })
  // a person who deletes the file wants no change
  const after = existsSync(path) ? readFileSync(path, 'utf8') : before
  if (after === before) discard()
  if (error || status !== 0) {
    const why = `${editor} ended with ${error ? messageOf(error) : `code ${status}`}, so nothing was done`
    const kept = after === before ? `edit it again, or ${instead}` : `your text is in ${path}`
    throw new UsageError(`${why}; ${kept}`)
  }
  if (after === before)
    throw new UsageError(
      `the output of ${task.name} was not changed, so nothing was done; edit it again, or ${instead}`,
    )
  // editors end the last line, even if the output did not
  const text = before.endsWith('\n') ? after : after.replace(/\n$/, '')
  return { text, path, discard }
}

/** Says how to use the text later, if it could not be used. */
export function editedTextHint({ path }: EditedText, name?: string): string {
  return `your text was saved; use it with: --output ${shellWord(`${name === undefined ? '' : `${name}=`}@${path}`)}`
}

const instead = 'give the value with --output instead'

function editorCommand({ name }: OutputTarget): string {
  const editor = ['VISUAL', 'EDITOR'].map((variable) => process.env[variable]?.trim() ?? '').find((word) => word !== '')
  if (!canAsk()) throw new UsageError(`the output of ${name} cannot be edited without a terminal; ${instead}`)
  if (editor === undefined)
    throw new UsageError(`EDITOR is not set, so ${name} cannot be edited; set it, or ${instead}`)
  return editor
}

/** Returns the text to edit; an empty string for a task without an output. */
async function outputText(
  store: Store,
  run: string,
  { name, recorded, schema, forEach }: OutputTarget,
): Promise<string> {
  const { state } = await readRun(store, recorded?.run ?? run)
  const output = state.tasks.get(recorded?.task ?? name)?.output
  if (!output) return ''
  return (schema ?? forEach) && output.structured ? `${JSON.stringify(JSON.parse(output.raw), null, 2)}\n` : output.raw
}
