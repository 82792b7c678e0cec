// The one file of the library that reads the environment. It reads at use, never at import, so that a program may load
// its own `.env` first and a test may change a variable. Nothing is remembered: reading again is cheap and never out of
// date.
import { RepriseError } from './errors.ts'
import { longestSeconds } from './checks.ts'

export interface Environment {
  /** REPRISE_MODEL: the model of agents that name none. */
  readonly model: string | undefined
  /** REPRISE_STORE: the store of crews that name none. */
  readonly store: string | undefined
  /** REPRISE_LEASE_SECONDS. Reading it throws OPTION_INVALID when it is not a positive number. */
  readonly leaseSeconds: number | undefined
  readonly openaiKey: string | undefined
  readonly openaiBaseUrl: string | undefined
  readonly anthropicKey: string | undefined
  readonly anthropicBaseUrl: string | undefined
  /** GOOGLE_GENERATIVE_AI_API_KEY, else GEMINI_API_KEY. */
  readonly googleKey: string | undefined
  readonly ollamaBaseUrl: string | undefined
  /** TERM=dumb: a terminal on which lines cannot be changed once they are printed. */
  readonly dumbTerminal: boolean
  /** npm_lifecycle_event: the script of a package.json that npm runs. */
  readonly npmScript: string | undefined
}

const keyVariables = ['OPENAI_API_KEY', 'ANTHROPIC_API_KEY', 'GOOGLE_GENERATIVE_AI_API_KEY', 'GEMINI_API_KEY']

/** What the environment says now. An empty variable counts as not set. */
export function environment(): Environment {
  return {
    model: read('REPRISE_MODEL'),
    store: read('REPRISE_STORE'),
    // A getter, since a mistake in this variable must not stop code that only reads another one.
    get leaseSeconds() {
      return positiveNumber('REPRISE_LEASE_SECONDS')
    },
    openaiKey: read('OPENAI_API_KEY'),
    openaiBaseUrl: read('OPENAI_BASE_URL'),
    anthropicKey: read('ANTHROPIC_API_KEY'),
    anthropicBaseUrl: read('ANTHROPIC_BASE_URL'),
    googleKey: read('GOOGLE_GENERATIVE_AI_API_KEY') ?? read('GEMINI_API_KEY'),
    ollamaBaseUrl: read('OLLAMA_BASE_URL'),
    dumbTerminal: read('TERM') === 'dumb',
    npmScript: read('npm_lifecycle_event'),
  }
}

/** Which of the variables that hold a provider's key are set. */
export function keysSet(): readonly { readonly name: string; readonly set: boolean }[] {
  return keyVariables.map((name) => ({ name, set: read(name) !== undefined }))
}

/** Those of them whose value cannot be sent in a request. */
export function keysUnfit(): readonly string[] {
  return keyVariables.filter((name) => /[^\x21-\x7e]/.test(read(name) ?? ''))
}

/**
 * The values that must never be seen in a journal, a log or an error, including those that only a package or a tool
 * reads.
 */
export function secrets(): readonly string[] {
  const others = Object.keys(process.env).filter((name) => keyNames.test(name) && !keyVariables.includes(name))
  const long = others.map(read).filter((value) => value !== undefined && value.length >= 12 && !value.startsWith('/'))
  return [...keyVariables.map(read), ...long].filter((value) => value !== undefined)
}
/** GROQ_API_KEY, GITHUB_TOKEN, AWS_SECRET_ACCESS_KEY, DB_PASSWORD */
const keyNames = /(^|_)(TOKEN|SECRET|PASSWORD|PASSWD|API_?KEY|ACCESS_KEY|SECRET_KEY|PRIVATE_KEY)$/

/** Variables that may contain a credential, such as a password or a key in the query. */
export function addresses(): readonly string[] {
  const names = ['OPENAI_BASE_URL', 'ANTHROPIC_BASE_URL', 'OLLAMA_BASE_URL', 'REPRISE_STORE']
  return names.map(read).filter((value) => value !== undefined)
}

/** What a program that Reprise starts is given: enough to find commands and its home, but no key. */
export function plainVariables(): { readonly [name: string]: string } {
  const found = plainNames.flatMap((name) => (process.env[name] === undefined ? [] : [[name, process.env[name]]]))
  return Object.fromEntries(found) as { readonly [name: string]: string }
}
const plainNames =
  process.platform === 'win32'
    ? [
        'APPDATA',
        'HOMEDRIVE',
        'HOMEPATH',
        'LOCALAPPDATA',
        'PATH',
        'PATHEXT',
        'SYSTEMDRIVE',
        'SYSTEMROOT',
        'TEMP',
        'USERPROFILE',
      ]
    : ['HOME', 'LANG', 'LOGNAME', 'PATH', 'SHELL', 'TERM', 'TMPDIR', 'USER']

function read(name: string): string | undefined {
  const value = process.env[name]?.trim()
  return value === '' ? undefined : value
}

function positiveNumber(name: string): number | undefined {
  const value = read(name)
  if (value === undefined) return undefined
  const number = Number(value)
  if (number > 0 && number <= longestSeconds) return number
  throw new RepriseError(
    'OPTION_INVALID',
    `the environment variable ${name} is ${JSON.stringify(value)}, not a number of seconds from 0.001 to ${longestSeconds}: set it to seconds, such as 30`,
  )
}
