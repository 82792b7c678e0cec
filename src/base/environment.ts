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
  /** Where Restate is, and what it asks for: RESTATE_INGRESS_URL, RESTATE_ADMIN_URL, RESTATE_AUTH_TOKEN. */
  readonly restate: Readonly<Record<'ingress' | 'admin' | 'token', string | undefined>>
  /** REPRISE_ADVANCE_SECRET: what calls that advance runs are signed with. */
  readonly advanceSecret: string | undefined
  /** TERM=dumb: a terminal on which lines cannot be changed once they are printed. */
  readonly dumbTerminal: boolean
  /** npm_lifecycle_event: the script of a package.json that npm runs. */
  readonly npmScript: string | undefined
}

/** What the environment says now. An empty variable counts as not set. */
export function environment(): Environment {
  return {
    model: read('REPRISE_MODEL'),
    store: read('REPRISE_STORE'),
    // A getter, since a mistake in this variable must not stop code that only reads another one.
    get leaseSeconds() {
      return positiveNumber('REPRISE_LEASE_SECONDS')
    },
    restate: {
      ingress: read('RESTATE_INGRESS_URL'),
      admin: read('RESTATE_ADMIN_URL'),
      token: read('RESTATE_AUTH_TOKEN'),
    },
    advanceSecret: read('REPRISE_ADVANCE_SECRET'),
    dumbTerminal: read('TERM') === 'dumb',
    npmScript: read('npm_lifecycle_event'),
  }
}

/** The first of these variables that is set. Providers of models name theirs in their table. */
export function firstSet(names: readonly string[]): { readonly name: string; readonly value: string } | undefined {
  for (const name of names) {
    const value = read(name)
    if (value !== undefined) return { name, value }
  }
  return undefined
}

/**
 * The values that must never be seen in a journal, a log or an error, including those that only a package or a tool
 * reads.
 */
export function secrets(): readonly string[] {
  return Object.keys(process.env).flatMap((name) => {
    const value = keyNames.test(name) ? read(name) : undefined
    if (value === undefined) return []
    // under the other names a short value is a word, and a path says where the secret is
    return name.endsWith('_API_KEY') || (value.length >= 12 && !value.startsWith('/')) ? [value] : []
  })
}
/** GROQ_API_KEY, GITHUB_TOKEN, AWS_SECRET_ACCESS_KEY, DB_PASSWORD, AWS_BEARER_TOKEN_BEDROCK */
const keyNames = /(^|_)(TOKEN|SECRET|PASSWORD|PASSWD|API_?KEY|ACCESS_KEY|SECRET_KEY|PRIVATE_KEY|BEARER_TOKEN_[A-Z]+)$/

/** Variables that may contain a credential, such as a password or a key in the query. */
export function addresses(): readonly string[] {
  const names = Object.keys(process.env).filter((name) => addressNames.test(name))
  return names.map(read).filter((value) => value !== undefined)
}
/** MISTRAL_BASE_URL, OPENAI_API_BASE, AZURE_OPENAI_ENDPOINT, AWS_ENDPOINT_URL_BEDROCK_RUNTIME */
const addressNames = /_(BASE_URL|API_BASE|API_URL|ENDPOINT)$|^AWS_ENDPOINT_URL|^REPRISE_STORE$/

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
