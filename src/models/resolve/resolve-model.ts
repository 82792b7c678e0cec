// Resolves a model as written by a user to a model object of the AI SDK. A string names a provider and means that
// provider itself, never a gateway. `checkModel` finds everything that can be wrong, without network and before
// anything is spent. Packages are loaded when a model is called, so that importing Reprise stays cheap.
import type { LanguageModel as AiLanguageModel } from 'ai'
import { environment } from '../../base/environment.ts'
import { messageOf, RepriseError } from '../../base/errors.ts'
import { describe } from '../../base/options.ts'
import { redact } from '../../secrets/redact.ts'
import { safeCause } from '../model-failure.ts'
import { knownProviders, readModelName, type NamedModel } from './model-names.ts'
import { readAccess, checkProvider, keyVariable } from './provider-access.ts'
import { findProvider, openModel } from './providers.ts'
import { remember, secretsIn, secretsInAddress } from '../../secrets/known.ts'

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
 * The canonical name, `provider/model`, also for texts with an alias or without a provider (`gemini/…`, `gpt-4o`). A
 * text without a known provider is returned as it is. For an object, its provider and id: `openai/gpt-5-mini` for the
 * provider `openai.responses`.
 */
export function modelName(model: LanguageModel | string | undefined): string {
  const written = model ?? environment().model ?? defaultModel
  if (typeof written === 'string') return readModelName(written)?.name ?? written
  return `${modelProvider(written)}/${written.modelId}`
}

/** Checks everything that `resolveModel` needs: MODEL_INVALID (also for a missing package), MODEL_KEY_MISSING. */
export function checkModel(model: LanguageModel | string | undefined): void {
  if (model !== undefined && typeof model !== 'string') return checkModelKind('a model', model)
  checkProvider(parseModel(model))
}

/** Returns the object to call. MODEL_INVALID, MODEL_KEY_MISSING. Sends nothing. */
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

/** MODEL_INVALID for an unknown provider. Does not need its package or key. */
export function parseModel(model: string | undefined): NamedModel {
  const written = model ?? environment().model ?? defaultModel
  const found = readModelName(written)
  if (found !== undefined) return found
  const source = model === undefined && environment().model !== undefined ? ' (from REPRISE_MODEL)' : ''
  throw new RepriseError(
    'MODEL_INVALID',
    `model ${JSON.stringify(written)}${source} names no known provider: write provider/model, where provider is ` +
      `${knownProviders(written)}, or give an AI SDK language model`,
  )
}

/** MODEL_INVALID for a value that is neither a text, a model object of the AI SDK, nor undefined. */
export function checkModelKind(what: string, model: unknown): void {
  if (model === undefined || typeof model === 'string') return
  const { doGenerate, modelId } = (model ?? {}) as { readonly doGenerate?: unknown; readonly modelId?: unknown }
  if (typeof doGenerate === 'function' && typeof modelId === 'string') return
  throw new RepriseError(
    'MODEL_INVALID',
    `${what} is ${describe(model)}, which isn't a language model: give "provider/model" or a model object of the AI SDK, such as openai("gpt-5-mini")`,
  )
}

// Removes the API, which is not part of the name: `openai.responses`, `anthropic.messages`, `google.generative-ai`.
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
 * Registers the keys of model objects made in code, such as createOpenAI({ apiKey, headers, baseURL }). Objects of the
 * AI SDK have what they send in `config`, which is not part of their types, so it is read defensively. The key of
 * another or a wrapped object is only recognised by its shape. Reads each object once, because its headers may come
 * from a user's function that creates a token. Never throws.
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

function callSafely(maker: unknown, ...given: readonly unknown[]): unknown {
  try {
    return typeof maker === 'function' ? (maker as (...given: readonly unknown[]) => unknown)(...given) : undefined
  } catch {
    // the model call will report the error
    return undefined
  }
}
