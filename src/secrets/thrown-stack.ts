// The part of a stack that is useful to users: where their own code threw. Leaves out the frames of Node and Reprise,
// and everything that called Reprise. Of a library, keeps only the frame that threw. The result is stored with the run,
// so its length is limited, and it contains no messages.
import { relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { RepriseError } from '../base/errors.ts'
import { redact } from './redact.ts'

const maxFrames = 8
const maxFrameLength = 300

interface Frame {
  /** `async lookup`; empty for an anonymous function and at the top of a module. */
  readonly name: string
  /** As the JavaScript engine shows it: a URL, a path, or something like `node:internal/timers`. */
  readonly file: string
  readonly place: string
}

/**
 * The frames of the user's code, one line each: `at lookup (crew.ts:12:9)`. Undefined if there are none. For a
 * RepriseError, the frames of its cause.
 */
export function thrownStack(thrown: unknown): string | undefined {
  try {
    return readStack(thrown)
  } catch {
    // a stack that cannot be read must not hide the error itself
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
  return [first, ...own].slice(0, maxFrames).map(frameText).join('\n')
}

function rootError(thrown: unknown): unknown {
  let error = thrown
  while (RepriseError.isInstance(error)) error = error.cause
  return error
}

function parseFrames(error: unknown): Frame[] {
  // code may throw other values than errors
  const { stack, message } = error as Error
  // without the message, which may contain lines that look like frames
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

/** Undefined in a bundle, where our code can't be told from the user's. */
function ourFolder(): { readonly url: string; readonly path: string } | undefined {
  const here = (import.meta as { readonly url?: string }).url ?? ''
  const [, url] = /^(file:.*\/)secrets\/thrown-stack\.[jt]s$/.exec(here) ?? []
  return url === undefined ? undefined : { url, path: fileURLToPath(url) }
}

function frameText({ name, file, place }: Frame): string {
  const where = `${shownFile(file)}:${place}`
  return redact(`at ${name === '' ? where : `${name} (${where})`}`).slice(0, maxFrameLength)
}

/** A path inside the working folder is shown relative to it. */
function shownFile(file: string): string {
  const path = file.startsWith('file:') ? fileURLToPath(file) : file
  const below = relative(process.cwd(), path)
  return below === '' || below.startsWith('..') ? path : below
}
