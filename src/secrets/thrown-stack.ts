// Where in the user's own code something was thrown: the part of a stack that says something to them. Frames of Node
// and of Reprise are left out, as is everything after Reprise called that code, and of a library all but the place
// where it threw. Messages are not part of it, and it has a limit: it is stored with the run.
import { relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { RepriseError } from '../base/errors.ts'
import { redact } from './redact.ts'

const mostFrames = 8
const longestFrame = 300

interface Frame {
  /** `async lookup`; empty at the top of a module. */
  readonly name: string
  /** As the engine names it: a URL, a path, or something like `node:internal/timers`. */
  readonly file: string
  readonly place: string
}

/**
 * A line for each frame: `at lookup (crew.ts:12:9)`. Undefined where none is of the user's code. Of an error of ours,
 * that of its cause.
 */
export function thrownStack(thrown: unknown): string | undefined {
  try {
    return readStack(thrown)
  } catch {
    // it only helps people: whatever is odd about it must not hide what was thrown
    return undefined
  }
}

function readStack(thrown: unknown): string | undefined {
  const frames = parseFrames(rootError(thrown))
  const begin = frames.findIndex((frame) => !isNode(frame) && !isOurs(frame))
  const end = frames.findIndex((frame, index) => index > begin && isOurs(frame))
  const [first, ...others] = frames.slice(Math.max(begin, 0), end < 0 ? undefined : end)
  const own = others.filter((frame) => !isNode(frame) && !isLibrary(frame))
  if (begin < 0 || !first || (own.length === 0 && isLibrary(first))) return undefined
  return [first, ...own].slice(0, mostFrames).map(frameText).join('\n')
}

function rootError(thrown: unknown): unknown {
  let error = thrown
  while (RepriseError.isInstance(error)) error = error.cause
  return error
}

function parseFrames(error: unknown): Frame[] {
  // anything can be thrown
  const { stack, message } = error as Error
  // a message may look like frames
  const lines = stack?.slice(Math.max(stack.indexOf(message), 0) + message.length).split('\n') ?? []
  return lines.flatMap((line) => {
    const [, name = '', file, place] = /^ {4}at (?:(.*) \()?(.+?):(\d+:\d+)\)?$/.exec(line) ?? []
    return file === undefined || place === undefined ? [] : [{ name, file: file.replace(/^async /, ''), place }]
  })
}

const isNode = ({ file }: Frame): boolean => file.startsWith('node:')
const isLibrary = ({ file }: Frame): boolean => /[\\/]node_modules[\\/]/.test(file)
const isOurs = ({ file }: Frame): boolean => {
  const root = ourFolder()
  return root !== undefined && (file.startsWith(root.url) || file.startsWith(root.path))
}

/** Undefined in a bundle, in which nobody can tell our code from the user's. */
function ourFolder(): { readonly url: string; readonly path: string } | undefined {
  const here = (import.meta as { readonly url?: string }).url ?? ''
  const [, url] = /^(file:.*\/)secrets\/thrown-stack\.[jt]s$/.exec(here) ?? []
  return url === undefined ? undefined : { url, path: fileURLToPath(url) }
}

function frameText({ name, file, place }: Frame): string {
  const where = `${shownFile(file)}:${place}`
  return redact(`at ${name === '' ? where : `${name} (${where})`}`).slice(0, longestFrame)
}

/** Relative to the working folder where it is below that. */
function shownFile(file: string): string {
  const path = file.startsWith('file:') ? fileURLToPath(file) : file
  const below = relative(process.cwd(), path)
  return below === '' || below.startsWith('..') ? path : below
}
