// The model settings of an agent. They are JSON, because the journal keeps them for a started task.
import type { LanguageModelCallOptions, generateText } from 'ai'
import { RepriseError } from '../../base/errors.ts'
import { check, listOf, number, optional, seconds, text, whole, type Check } from '../../base/checks.ts'
import { strictJson, type Json } from '../../journal/json.ts'
import { checkKeys, isRecord } from '../../base/options.ts'
import { fitsStrictMode } from '../../schema/json-schema.ts'
import { redact } from '../../secrets/redact.ts'

// A type and not an interface, so that it is assignable to the JSON that the journal keeps.
/** An agent's `settings`. `providerOptions` are passed on unchanged: `{ openai: { reasoningEffort: 'low' } }`. */
export type ModelSettings = {
  readonly temperature?: number
  readonly maxOutputTokens?: number
  readonly topP?: number
  readonly topK?: number
  readonly presencePenalty?: number
  readonly frequencyPenalty?: number
  readonly stopSequences?: readonly string[]
  readonly seed?: number
  /** How much a reasoning model thinks: none, minimal, low, medium, high, xhigh. */
  readonly reasoning?: string
  /** The timeout of one try of a model call. */
  readonly timeoutSeconds?: number
  readonly providerOptions?: { readonly [provider: string]: { readonly [option: string]: Json } }
}

const checks: { readonly [Name in keyof ModelSettings]-?: Check } = {
  temperature: number(0),
  maxOutputTokens: whole(1),
  topP: number(0, 1),
  topK: number(0),
  presencePenalty: number(-100, 100),
  frequencyPenalty: number(-100, 100),
  stopSequences: listOf('a list of texts', 'a text', (item) => typeof item === 'string'),
  seed: whole(Number.MIN_SAFE_INTEGER),
  reasoning: text,
  timeoutSeconds: seconds,
  providerOptions: check(
    "an object of options by provider: { openai: { reasoningEffort: 'low' } }",
    (value) => isRecord(value) && Object.values(value).every(isRecord),
  ),
}
const ours = ['timeoutSeconds', 'providerOptions']
const passedOn = Object.keys(checks).filter((name) => !ours.includes(name))

/** All names of settings. */
export const settingNames: readonly string[] = Object.keys(checks)

/** OPTION_UNKNOWN, OPTION_INVALID, before the run starts and the model would refuse the settings. */
export const settingsCheck: Check<{ readonly [name: string]: Json }> = {
  expected: `an object with any of ${settingNames.map((name) => `\`${name}\``).join(', ')}`,
  read(what, value) {
    checkKeys(what, value, settingNames)
    const given = value as { readonly [name: string]: unknown }
    const whose = what.replace(/^settings/, '')
    for (const [name, by] of Object.entries(checks)) optional(`settings.${name}${whose}`, given[name], by)
    const json = strictJson(given, 'settings')
    if (!json.ok) {
      throw new RepriseError('OPTION_INVALID', `${json.path}${whose} is ${json.found}, which is not valid JSON`)
    }
    const kept = json.value as { readonly [name: string]: Json }
    refuseSecrets(whose, kept['providerOptions'] ?? null, ['settings', 'providerOptions'])
    return kept
  },
}

/** OPTION_INVALID for a credential: the journal keeps the settings of a started task, and must not contain keys. */
function refuseSecrets(whose: string, value: Json, path: readonly string[]): void {
  if (typeof value === 'string') {
    const named = `${path.at(-1)}=${value}`
    if (redact(named) === named) return
    const words = `${path.join('.')}${whose} is a credential, and the journal stores settings; give it to the model object instead, as in createOpenAI({ apiKey })`
    throw new RepriseError('OPTION_INVALID', words)
  }
  if (typeof value !== 'object' || value === null) return
  for (const [name, member] of Object.entries(value)) refuseSecrets(whose, member, [...path, name])
}

type Settings = { readonly [name: string]: Json } | undefined
type ProviderOptions = NonNullable<Parameters<typeof generateText>[0]['providerOptions']>

export function modelSettings(settings: Settings): LanguageModelCallOptions {
  const known = passedOn.filter((name) => settings?.[name] !== undefined).map((name) => [name, settings?.[name]])
  return Object.fromEntries(known) as LanguageModelCallOptions
}

/** The options of the provider, besides the standard settings. The user's own options win. */
export function providerOptions(provider: string, settings: Settings, output: Json | undefined): ProviderOptions {
  const dot = provider.lastIndexOf('.')
  const api = dot < 0 ? '' : provider.slice(dot + 1)
  const strict = output === undefined || fitsStrictMode(output)
  const defaults = {
    // a resume weeks later must not depend on items stored at the provider: the request contains everything, and
    // reasoning comes back encrypted (the package asks for that if nothing is stored)
    ...(api === 'responses' && { store: false }),
    // strict mode refuses schemas with optional members, so it is switched off for these
    ...((api === 'responses' || api === 'chat') && !strict && { strictJsonSchema: false }),
    // OpenRouter's package has no such switch, but adds these options to the request
    ...(provider === 'openrouter' && !strict && { response_format: notStrict(output) }),
  }
  const given = (settings?.['providerOptions'] ?? {}) as ProviderOptions
  if (Object.keys(defaults).length === 0) return given
  const key = optionsKey(provider, api)
  return { ...given, [key]: { ...defaults, ...given[key] } }
}

function optionsKey(provider: string, api: string): string {
  if (provider.includes('azure')) return 'azure'
  const [owner = ''] = provider.split('.', 1)
  // model objects of OpenAI's package read the options for OpenAI, whatever the provider's name is
  return api === 'responses' && owner !== 'xai' ? 'openai' : owner
}

function notStrict(schema: Json): Json {
  return { type: 'json_schema', json_schema: { name: 'response', strict: false, schema } }
}
