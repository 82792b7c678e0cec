// The options of steps, and their checks.
import {
  check,
  checkKeys,
  describe,
  func,
  isRecord,
  number,
  oneOf,
  optional,
  text,
  whole,
  wrong,
} from '../../base/options.ts'
import { RepriseError } from '../../base/errors.ts'
import { maxBackoffSeconds, type FunctionDefinition, type Retries } from '../../engine/definition.ts'
import type { Effect } from '../../tools/tool.ts'

const stepKeys = ['input', 'key', 'effect', 'settle', 'output', 'version', 'retries', 'maxSeconds', 'was', 'signal']

type Settle = NonNullable<FunctionDefinition['settle']>

interface StepSettings {
  readonly input: unknown
  readonly key: unknown
  readonly was: readonly string[]
  readonly effect: Effect
  readonly settle: ((idempotencyKey: string, input: unknown) => ReturnType<Settle>) | undefined
  readonly output: unknown
  readonly version: string | undefined
  readonly retries: Retries | undefined
  readonly maxSeconds: number | undefined
  readonly signal: AbortSignal | undefined
}

/** Throws OPTION_INVALID or OPTION_UNKNOWN. */
export function readStepOptions(name: unknown, given: unknown): StepSettings {
  const what = `step ${describe(name)}`
  if (!isRecord(given)) throw wrong(`the options of ${what}`, given, 'an object, before the function')
  checkKeys(what, given, stepKeys)
  const { input, key, was, effect, settle, output, version, retries, maxSeconds, signal } = given
  const effectOf = optional(`effect of ${what}`, effect, oneOf(['read', 'idempotent', 'once'] as const)) ?? 'once'
  const tries = retries === undefined ? undefined : readRetries(`retries of ${what}`, retries)
  if (tries && effectOf === 'once') {
    const words = `${what} has retries, but its effect is once, which is never repeated; give effect: 'idempotent' or 'read'`
    throw new RepriseError('OPTION_INVALID', words)
  }
  return {
    input,
    key,
    was: readWas(what, was),
    effect: effectOf,
    settle: optional(`settle of ${what}`, settle, func),
    output,
    version: optional(`version of ${what}`, version, text),
    retries: tries,
    maxSeconds: optional(`maxSeconds of ${what}`, maxSeconds, seconds),
    signal: readSignal(what, signal),
  }
}

const abortSignal = check<AbortSignal>('an AbortSignal', (value) => value instanceof AbortSignal)

function readSignal(what: string, signal: unknown): AbortSignal | undefined {
  return optional(`signal of ${what}`, signal, abortSignal)
}

const seconds = number(0.001, 2_000_000)

function readRetries(what: string, given: unknown): Retries {
  checkKeys(what, given, ['times', 'backoff'])
  const { times, backoff = 1 } = given as { readonly times?: unknown; readonly backoff?: unknown }
  return {
    times: whole(1, 100).read(`times of ${what}`, times),
    backoff: number(0, maxBackoffSeconds).read(`backoff of ${what}`, backoff),
  }
}

function readWas(what: string, was: unknown): readonly string[] {
  const names = was === undefined ? [] : Array.isArray(was) ? (was as readonly unknown[]) : [was]
  return names.map((name) => text.read(`was of ${what}`, name))
}

interface RunSettings {
  readonly name?: string
  readonly key: unknown
  readonly was: readonly string[]
  readonly signal: AbortSignal | undefined
}

/** Throws OPTION_INVALID or OPTION_UNKNOWN. */
export function runOptions(given: unknown = {}): RunSettings {
  checkKeys('run', given, ['key', 'name', 'was', 'signal'])
  const { name, key, was, signal } = given as { readonly [option: string]: unknown }
  return {
    ...(name === undefined ? {} : { name: text.read('name', name) }),
    key,
    was: readWas('the step', was),
    signal: readSignal('run', signal),
  }
}

interface WaitSettings {
  readonly key: unknown
  readonly signal: AbortSignal | undefined
  readonly until?: (now: number) => number
}

/** The options of `ask` and `event`. Throws OPTION_INVALID or OPTION_UNKNOWN. */
export function waitOptions(what: 'ask' | 'event', given: unknown = {}): WaitSettings {
  checkKeys(what, given, ['key', 'timeout', 'signal'])
  const { key, timeout, signal } = given as { readonly [option: string]: unknown }
  const settings = { key, signal: readSignal(what, signal) }
  if (timeout === undefined) return settings
  const ms = durationMs(`timeout of ${what}`, timeout)
  return { ...settings, until: (now) => now + ms }
}

/** Throws OPTION_INVALID or OPTION_UNKNOWN. */
export function sleepOptions(given: unknown = {}): Omit<WaitSettings, 'until'> {
  checkKeys('sleep', given, ['key', 'signal'])
  const { key, signal } = given as { readonly [option: string]: unknown }
  return { key, signal: readSignal('sleep', signal) }
}

const units = { days: 86_400_000, hours: 3_600_000, minutes: 60_000, seconds: 1_000 } as const

/** A length of time: `{ minutes: 10 }`. */
export interface Duration {
  readonly days?: number
  readonly hours?: number
  readonly minutes?: number
  readonly seconds?: number
}

/** A journal cannot record times after the year 9999. */
const longestMs = 36_525 * units.days

const durationCheck = check<Duration>(
  'an object such as { minutes: 10 }, with days, hours, minutes or seconds, of up to 100 years',
  (value) => {
    const entries = isRecord(value) ? Object.entries(value) : []
    const isValid = entries.every(([unit, count]) => unit in units && Number.isFinite(count) && Number(count) >= 0)
    return entries.length > 0 && isValid && sumMs(value as Duration) <= longestMs
  },
)

function sumMs(duration: Duration): number {
  const parts = Object.entries(duration) as [keyof typeof units, number][]
  return parts.reduce((sum, [unit, count]) => sum + units[unit] * count, 0)
}

/** Throws OPTION_INVALID. */
export function durationMs(what: string, given: unknown): number {
  return sumMs(durationCheck.read(what, given))
}

const dateCheck = check<Date>('a valid Date, at most of the year 9999', (value) => {
  const year = value instanceof Date ? value.getUTCFullYear() : NaN
  return year >= 0 && year <= 9999
})

/** Returns the end of a sleep. Throws OPTION_INVALID. */
export function sleepEnd(time: unknown): (now: number) => number {
  const what = 'the time of a sleep'
  if (time instanceof Date) {
    const end = dateCheck.read(what, time).getTime()
    return () => end
  }
  const ms = durationMs(what, time)
  return (now) => now + ms
}
