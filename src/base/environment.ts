// The only file outside the command line that reads environment variables. Reads them at each use, not at import, so
// that a program can load its own `.env` first, and a test can change a variable.
import { RepriseError } from './errors.ts'
import { longestSeconds } from './options.ts'

export interface Environment {
  /** REPRISE_MODEL: the default model of agents. */
  readonly model: string | undefined
  /** REPRISE_STORE: the default store of crews. */
  readonly store: string | undefined
  /** REPRISE_LEASE_SECONDS. The getter throws OPTION_INVALID if the variable isn't a possible number of seconds. */
  readonly leaseSeconds: number | undefined
  /** RESTATE_INGRESS_URL, RESTATE_ADMIN_URL, RESTATE_AUTH_TOKEN. */
  readonly restate: Readonly<Record<'ingress' | 'admin' | 'token', string | undefined>>
  /** REPRISE_ADVANCE_SECRET: signs calls that advance runs. */
  readonly advanceSecret: string | undefined
  /** TERM=dumb: the terminal can't change printed lines. */
  readonly dumbTerminal: boolean
  /** npm_lifecycle_event: the package.json script that npm is running. */
  readonly npmScript: string | undefined
}

/** Reads the environment. An empty variable counts as not set. */
export function environment(): Environment {
  return {
    model: read('REPRISE_MODEL'),
    store: read('REPRISE_STORE'),
    // a getter, so that an invalid value doesn't stop code that reads other variables
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

/** The first of these variables that is set. */
export function firstSet(names: readonly string[]): { readonly name: string; readonly value: string } | undefined {
  for (const name of names) {
    const value = read(name)
    if (value !== undefined) return { name, value }
  }
  return undefined
}

/** Values of variables that must never appear in a journal, log or error, even if only packages or tools use them. */
export function secrets(): readonly string[] {
  return Object.keys(process.env).flatMap((name) => {
    const value = keyNames.test(name) ? read(name) : undefined
    if (value === undefined) return []
    // unless the name ends with _API_KEY, a short value is probably a word, and a path only says where the secret is
    return name.endsWith('_API_KEY') || (value.length >= 12 && !value.startsWith('/')) ? [value] : []
  })
}
/** GROQ_API_KEY, GITHUB_TOKEN, AWS_SECRET_ACCESS_KEY, DB_PASSWORD, AWS_BEARER_TOKEN_BEDROCK */
const keyNames = /(^|_)(TOKEN|SECRET|PASSWORD|PASSWD|API_?KEY|ACCESS_KEY|SECRET_KEY|PRIVATE_KEY|BEARER_TOKEN_[A-Z]+)$/

/** Values of variables with URLs, which may contain a password or, in the query, a key. */
export function addresses(): readonly string[] {
  const names = Object.keys(process.env).filter((name) => addressNames.test(name))
  return names.map(read).filter((value) => value !== undefined)
}
/** MISTRAL_BASE_URL, OPENAI_API_BASE, AZURE_OPENAI_ENDPOINT, AWS_ENDPOINT_URL_BEDROCK_RUNTIME */
const addressNames = /_(BASE_URL|API_BASE|API_URL|ENDPOINT)$|^AWS_ENDPOINT_URL|^REPRISE_STORE$/

/** The variables that programs started by Reprise receive: enough to find commands and the home folder, but no keys. */
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
  if (number >= 0.001 && number <= longestSeconds) return number
  throw new RepriseError(
    'OPTION_INVALID',
    `the environment variable ${name} is ${JSON.stringify(value)}, not a number of seconds from 0.001 to ${longestSeconds}: set it to seconds, such as 30`,
  )
}
