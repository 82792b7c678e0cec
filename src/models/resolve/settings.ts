// The settings of an agent that reach the model. They are JSON, since a started task keeps them in the journal.
import type { LanguageModelCallOptions, generateText } from 'ai'
import { RepriseError } from '../../errors.ts'
import type { Json } from '../../journal/json.ts'
import { checkKeys, checkNumber, checkText, checkWhole, describe, isRecord, longestSeconds } from '../../options.ts'
import { redact } from '../../secrets/redact.ts'

// A type and not an interface, so that it passes for the JSON that the journal keeps.
/** What an agent's `settings` may hold. `providerOptions` is passed on as it is: `{ openai: { reasoningEffort: 'low' } }`. */
export type ModelSettings = {
  readonly temperature?: number
  readonly maxOutputTokens?: number
  readonly topP?: number
  readonly topK?: number
  readonly presencePenalty?: number
  readonly frequencyPenalty?: number
  readonly stopSequences?: readonly string[]
  readonly seed?: number
  /** How much a reasoning model is to think, in the words of the AI SDK: none, minimal, low, medium, high, xhigh. */
  readonly reasoning?: string
  /** Of one try of a model call. */
  readonly timeoutSeconds?: number
  readonly providerOptions?: { readonly [provider: string]: { readonly [option: string]: Json } }
}

const passedOn = [
  'temperature',
  'maxOutputTokens',
  'topP',
  'topK',
  'presencePenalty',
  'frequencyPenalty',
  'stopSequences',
  'seed',
  'reasoning',
] as const

/** Every name that `settings` may have, for whoever refuses the others. */
export const settingNames: readonly string[] = [...passedOn, 'timeoutSeconds', 'providerOptions']

/** OPTION_UNKNOWN: a model would refuse it too, but only when the run is under way. */
export function checkSettings(who: string, settings: ModelSettings): void {
  checkKeys(`settings of ${who}`, settings, settingNames)
  const what = (name: keyof ModelSettings): string => `settings.${name} of ${who}`
  for (const name of ['temperature', 'topK'] as const) checkNumber(what(name), settings[name], 0)
  for (const name of ['presencePenalty', 'frequencyPenalty'] as const)
    checkNumber(what(name), settings[name], -100, 100)
  checkNumber(what('topP'), settings.topP, 0, 1)
  checkWhole(what('maxOutputTokens'), settings.maxOutputTokens, 1)
  checkWhole(what('seed'), settings.seed, Number.MIN_SAFE_INTEGER)
  checkNumber(what('timeoutSeconds'), settings.timeoutSeconds, 0.001, longestSeconds)
  const { stopSequences: stops = [], reasoning, providerOptions: options = {} } = settings
  if (reasoning !== undefined) checkText('OPTION_UNKNOWN', what('reasoning'), reasoning)
  if (!Array.isArray(stops) || stops.some((stop) => typeof stop !== 'string')) {
    throw new RepriseError('OPTION_UNKNOWN', `${what('stopSequences')} is ${describe(stops)}; give a list of texts`)
  }
  if (isRecord(options) && Object.values(options).every(isRecord)) return
  const words = `${what('providerOptions')} is not an object of objects; give the options by provider: { openai: { reasoningEffort: 'low' } }`
  throw new RepriseError('OPTION_UNKNOWN', words)
}

/** OPTION_UNKNOWN: the journal keeps the settings of a started task, and must not keep a key. */
export function refuseSecrets(who: string, settings: { readonly [name: string]: Json }): void {
  refuse(who, settings['providerOptions'] ?? null, ['settings', 'providerOptions'])
}

function refuse(who: string, value: Json, path: readonly string[]): void {
  if (typeof value === 'string') {
    const named = `${path.at(-1)}=${value}`
    if (redact(named) === named) return
    const words = `${path.join('.')} of ${who} is a credential, and settings are kept in the journal; give it to the model object instead, as in createOpenAI({ apiKey })`
    throw new RepriseError('OPTION_UNKNOWN', words)
  }
  if (typeof value !== 'object' || value === null) return
  for (const [name, member] of Object.entries(value)) refuse(who, member, [...path, name])
}

type Settings = { readonly [name: string]: Json } | undefined
type ProviderOptions = NonNullable<Parameters<typeof generateText>[0]['providerOptions']>

export function modelSettings(settings: Settings): LanguageModelCallOptions {
  const known = passedOn.filter((name) => settings?.[name] !== undefined).map((name) => [name, settings?.[name]])
  return Object.fromEntries(known) as LanguageModelCallOptions
}

/** What the provider is told beside the standard settings; the user's own options come last and win. */
export function providerOptions(provider: string, settings: Settings, strict: boolean): ProviderOptions {
  const dot = provider.lastIndexOf('.')
  const spoken = dot < 0 ? '' : provider.slice(dot + 1)
  const defaults = {
    // A resume weeks later must not depend on items kept at the provider: the request carries everything, and reasoning comes
    // back to us encrypted (the package asks for that by itself once nothing is stored).
    ...(spoken === 'responses' && { store: false }),
    // Strict mode refuses a schema with optional members, so it is left where the schema does not fit it.
    ...((spoken === 'responses' || spoken === 'chat') && !strict && { strictJsonSchema: false }),
  }
  const given = (settings?.['providerOptions'] ?? {}) as ProviderOptions
  if (Object.keys(defaults).length === 0) return given
  const key = provider.includes('azure') ? 'azure' : spoken === 'responses' ? 'openai' : provider.split('.', 1)[0]!
  return { ...given, [key]: { ...defaults, ...given[key] } }
}
