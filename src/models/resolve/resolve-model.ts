// Resolves a model, as a user wrote it, to a model object of the AI SDK, and checks model settings. A string means the
// named provider itself, never a gateway. `checkModel` finds everything that can be wrong, without network and before
// anything is spent. Packages are loaded when a model is called, so that importing Reprise stays cheap.
import type { LanguageModel as AiLanguageModel, LanguageModelCallOptions, generateText } from 'ai'
import { environment } from '../../base/environment.ts'
import { messageOf, RepriseError } from '../../base/errors.ts'
import {
  describe,
  checkKeys,
  isRecord,
  check,
  listOf,
  number,
  optional,
  seconds,
  text,
  whole,
  type Check,
} from '../../base/options.ts'
import { redact } from '../../secrets/redact.ts'
import { safeCause } from '../model-failure.ts'
import { knownProviders, readModelName, type NamedModel } from './model-names.ts'
import { readAccess, checkProvider, keyVariable } from './provider-access.ts'
import { findProvider, openModel } from './providers.ts'
import { remember, secretsIn, secretsInAddress } from '../../secrets/known.ts'
import { strictJson, type Json } from '../../journal/json.ts'
import { fitsStrictMode } from '../../schema/json-schema.ts'

/** A language model object of any version that the AI SDK accepts. */
export type LanguageModel = Exclude<AiLanguageModel, string>
export type LanguageModelV4 = Extract<LanguageModel, { specificationVersion: 'v4' }>

export interface ResolvedModel {
  /** In the form of `modelName`. */
  readonly name: string
  readonly model: LanguageModel
  /** The environment variable with the provider's key, if known. */
  readonly keyVariable: string | undefined
}

/** The model of agents without one, if REPRISE_MODEL is not set. */
export const defaultModel = 'openai/gpt-5-mini'

/**
 * The canonical name, `provider/model`, also for a string with an alias or without a provider (`gemini/…`, `gpt-4o`). A
 * string without a known provider is returned unchanged. For an object, its provider and id: `openai/gpt-5-mini` for
 * the provider `openai.responses`.
 */
export function modelName(model: LanguageModel | string | undefined): string {
  const written = model ?? environment().model ?? defaultModel
  if (typeof written === 'string') return readModelName(written)?.name ?? written
  return `${modelProvider(written)}/${written.modelId}`
}

/**
 * Checks everything that `resolveModel` needs. Throws MODEL_INVALID (also for a missing package) or MODEL_KEY_MISSING.
 */
export function checkModel(model: LanguageModel | string | undefined): void {
  if (model !== undefined && typeof model !== 'string') return checkModelKind('a model', model)
  checkProvider(parseModel(model))
}

/** Returns the object to call, without sending anything. Rejects with MODEL_INVALID or MODEL_KEY_MISSING. */
export async function resolveModel(model: LanguageModel | string | undefined): Promise<ResolvedModel> {
  checkModel(model)
  const name = modelName(model)
  if (model !== undefined && typeof model !== 'string') {
    learnSecrets(model)
    const known = findProvider(modelProvider(model))
    return { name, model, keyVariable: known && keyVariable(known) }
  }
  const { provider, id } = parseModel(model)
  try {
    const opened = await openModel(provider, id, readAccess(provider))
    return { name, model: opened, keyVariable: keyVariable(provider) }
  } catch (error) {
    throw new RepriseError('MODEL_INVALID', `model ${name} cannot be opened: ${redact(messageOf(error))}`, {
      cause: safeCause(error),
    })
  }
}

/** Throws MODEL_INVALID for an unknown provider. Needs neither its package nor its key. */
export function parseModel(model: string | undefined): NamedModel {
  const written = model ?? environment().model ?? defaultModel
  const found = readModelName(written)
  if (found !== undefined) return found
  const source = model === undefined && environment().model !== undefined ? ' (from REPRISE_MODEL)' : ''
  throw new RepriseError(
    'MODEL_INVALID',
    `model ${JSON.stringify(written)}${source} names no known provider: write provider/model, where provider is ` +
      `${knownProviders(written)}, or pass a model object of the AI SDK`,
  )
}

/** Throws MODEL_INVALID for a value that is neither a string, a model object of the AI SDK, nor undefined. */
export function checkModelKind(what: string, model: unknown): void {
  if (model === undefined || typeof model === 'string') return
  const { doGenerate, modelId } = (model ?? {}) as { readonly doGenerate?: unknown; readonly modelId?: unknown }
  if (typeof doGenerate === 'function' && typeof modelId === 'string') return
  throw new RepriseError(
    'MODEL_INVALID',
    `${what} is ${describe(model)}, which isn't a language model: pass "provider/model" or a model object of the AI SDK, such as openai("gpt-5-mini")`,
  )
}

/** The provider of an object, without the API: `openai` for `openai.responses`. */
function modelProvider(model: LanguageModel): string {
  return model.provider.replace(/\.(chat|responses|completion|messages|generative-ai)$/, '')
}

interface Config {
  readonly headers?: unknown
  readonly baseURL?: unknown
  readonly url?: unknown
}

const seen = new WeakSet<LanguageModel>()

/**
 * Registers the keys of a model object that was created in code, such as createOpenAI({ apiKey, headers, baseURL }), so
 * that they are redacted. Objects of the AI SDK have what they send in `config`, which isn't part of their types, so it
 * is read defensively. The keys of other or wrapped objects are only recognised by their shape. Reads each object once,
 * because its headers may come from a user's function that creates a token. Never throws.
 */
function learnSecrets(model: LanguageModel): void {
  if (seen.has(model)) return
  seen.add(model)
  const { config } = model as { readonly config?: Config | null }
  if (typeof config !== 'object' || config === null) return
  const { baseURL, url, headers } = config
  for (const address of [baseURL, callSafely(url, { path: '/', modelId: model.modelId })])
    if (typeof address === 'string') remember(secretsInAddress(address))
  const sent = typeof headers === 'function' ? callSafely(headers) : headers
  if (sent instanceof Promise) sent.then(rememberHeaders, () => {})
  else rememberHeaders(sent)
}

function rememberHeaders(headers: unknown): void {
  if (typeof headers !== 'object' || headers === null) return
  const texts = Object.entries(headers).filter((header): header is [string, string] => typeof header[1] === 'string')
  remember(texts.flatMap(secretsIn))
}

function callSafely(maker: unknown, ...args: readonly unknown[]): unknown {
  try {
    return typeof maker === 'function' ? (maker as (...args: readonly unknown[]) => unknown)(...args) : undefined
  } catch {
    // the call of the model will report the error
    return undefined
  }
}

// The model settings of an agent. They are JSON, because the journal stores them for each attempt.

// A type and not an interface, so that it is assignable to JSON.
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
  stopSequences: listOf('a list of strings', 'a string', (item) => typeof item === 'string'),
  seed: whole(Number.MIN_SAFE_INTEGER),
  reasoning: text,
  timeoutSeconds: seconds,
  providerOptions: check(
    "an object of options by provider: { openai: { reasoningEffort: 'low' } }",
    (value) => isRecord(value) && Object.values(value).every(isRecord),
  ),
}
const handledHere = ['timeoutSeconds', 'providerOptions']
const sdkSettings = Object.keys(checks).filter((name) => !handledHere.includes(name))

/** The names of all settings. */
export const settingNames: readonly string[] = Object.keys(checks)

/** Throws OPTION_UNKNOWN or OPTION_INVALID before the run starts, instead of leaving errors to the provider. */
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

/** Throws OPTION_INVALID for a credential, since settings are stored in the journal, which must not contain keys. */
function refuseSecrets(whose: string, value: Json, path: readonly string[]): void {
  if (typeof value === 'string') {
    const named = `${path.at(-1)}=${value}`
    if (redact(named) === named) return
    const words = `${path.join('.')}${whose} is a credential, and the journal stores settings; pass it to the model object instead, as in createOpenAI({ apiKey })`
    throw new RepriseError('OPTION_INVALID', words)
  }
  if (typeof value !== 'object' || value === null) return
  for (const [name, member] of Object.entries(value)) refuseSecrets(whose, member, [...path, name])
}

type Settings = { readonly [name: string]: Json } | undefined
type ProviderOptions = NonNullable<Parameters<typeof generateText>[0]['providerOptions']>

/** The settings that the AI SDK receives as its own options. */
export function modelSettings(settings: Settings): LanguageModelCallOptions {
  const known = sdkSettings.filter((name) => settings?.[name] !== undefined).map((name) => [name, settings?.[name]])
  return Object.fromEntries(known) as LanguageModelCallOptions
}

/** The `providerOptions` of a request: our defaults, overridden by the user's own options. */
export function providerOptions(provider: string, settings: Settings, output: Json | undefined): ProviderOptions {
  const dot = provider.lastIndexOf('.')
  const api = dot < 0 ? '' : provider.slice(dot + 1)
  const strict = output === undefined || fitsStrictMode(output)
  const defaults = {
    // a resume weeks later must not depend on items stored at the provider. So the request contains everything, and
    // reasoning comes back encrypted, as the package requests if `store` is false
    ...(api === 'responses' && { store: false }),
    // strict mode refuses schemas with optional members, so it is off for these
    ...((api === 'responses' || api === 'chat') && !strict && { strictJsonSchema: false }),
    // OpenRouter's package has no such option, but copies these options into the request
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
  // model objects of OpenAI's package read `openai`, whatever the provider's name
  return api === 'responses' && owner !== 'xai' ? 'openai' : owner
}

function notStrict(schema: Json): Json {
  return { type: 'json_schema', json_schema: { name: 'response', strict: false, schema } }
}
