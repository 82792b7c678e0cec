// From what a user writes as a model to the AI SDK's model object. Strings are `provider/model` and mean that provider
// itself, never a gateway. Everything that can be wrong with one is found by `checkModel`, without network and before
// anything is spent. No package is loaded before a model is called, so that importing Reprise stays cheap.
import type { LanguageModel as AiLanguageModel } from 'ai'
import { environment } from '../../environment.ts'
import { messageOf, RepriseError } from '../../errors.ts'
import { describe } from '../../options.ts'
import { redact } from '../../secrets/redact.ts'
import { safeCause } from '../model-failure.ts'
import { learnSecrets } from './model-secrets.ts'
import { checkProvider, findProvider, providerNames } from './providers.ts'

/** A language model object of the AI SDK, of any version that it still accepts. */
export type LanguageModel = Exclude<AiLanguageModel, string>
export type LanguageModelV4 = Extract<LanguageModel, { specificationVersion: 'v4' }>

export interface ResolvedModel {
  /** As `modelName` returns it. */
  readonly name: string
  readonly model: LanguageModel
  /** The environment variable that holds the key of the provider, where that is known. */
  readonly keyVariable: string | undefined
}

/** The model of agents that name none, when REPRISE_MODEL is not set either. */
export const defaultModel = 'openai/gpt-5-mini'

/**
 * `provider/model` as written; of an object, its provider and id: `openai/gpt-5-mini` for a provider
 * `openai.responses`.
 */
export function modelName(model: LanguageModel | string | undefined): string {
  if (model === undefined) return environment().model ?? defaultModel
  if (typeof model === 'string') return model
  return `${providerOf(model)}/${model.modelId}`
}

/** Refuses what `resolveModel` would refuse: MODEL_INVALID (also for a package to install), MODEL_KEY_MISSING. */
export function checkModel(model: LanguageModel | string | undefined): void {
  if (model !== undefined && typeof model !== 'string') return checkModelKind('a model', model)
  checkProvider(parseModel(model))
}

/** The object to call. MODEL_INVALID and MODEL_KEY_MISSING as in `checkModel`; nothing is sent anywhere. */
export async function resolveModel(model: LanguageModel | string | undefined): Promise<ResolvedModel> {
  checkModel(model)
  const name = modelName(model)
  if (model !== undefined && typeof model !== 'string') {
    learnSecrets(model)
    return { name, model, keyVariable: findProvider(providerOf(model))?.keyVariable }
  }
  const { provider, id } = parseModel(model)
  try {
    return { name, model: await provider.open(id), keyVariable: provider.keyVariable }
  } catch (error) {
    throw new RepriseError('MODEL_INVALID', `model ${name} cannot be opened: ${redact(messageOf(error))}`, {
      cause: safeCause(error),
    })
  }
}

export interface ParsedModel {
  readonly name: string
  readonly id: string
  readonly provider: NonNullable<ReturnType<typeof findProvider>>
}

/** MODEL_INVALID for a name without a known provider. Neither its package nor its key need be present. */
export function parseModel(model: string | undefined): ParsedModel {
  const name = modelName(model)
  const slash = name.indexOf('/')
  const id = name.slice(slash + 1)
  const provider = slash > 0 && id.trim() !== '' ? findProvider(name.slice(0, slash)) : undefined
  if (provider !== undefined) return { name, id, provider }
  const written = model === undefined && environment().model !== undefined ? ' (from REPRISE_MODEL)' : ''
  throw new RepriseError(
    'MODEL_INVALID',
    `model ${JSON.stringify(name)}${written} names no known provider: write provider/model, where provider is ` +
      `${providerNames.join(', ')}${suggestion(name)}, or give an AI SDK language model`,
  )
}

function suggestion(name: string): string {
  const bare = name.slice(name.indexOf('/') + 1)
  const guess = /^(gpt-|o\d|chatgpt)/.test(bare)
    ? 'openai'
    : bare.startsWith('claude')
      ? 'anthropic'
      : bare.startsWith('gemini')
        ? 'google'
        : /^(llama|mistral|qwen|gemma|phi)/.test(bare)
          ? 'ollama'
          : undefined
  return guess === undefined ? '' : ` (did you mean "${guess}/${bare}"?)`
}

/** MODEL_INVALID for what is neither a text nor a model that the AI SDK could call; undefined is fine. */
export function checkModelKind(what: string, model: unknown): void {
  if (model === undefined || typeof model === 'string') return
  const { doGenerate, modelId } = (model ?? {}) as { readonly doGenerate?: unknown; readonly modelId?: unknown }
  if (typeof doGenerate === 'function' && typeof modelId === 'string') return
  throw new RepriseError(
    'MODEL_INVALID',
    `${what} is ${describe(model)}, which isn't a language model: give "provider/model" or a model object of the AI SDK, such as openai("gpt-5-mini")`,
  )
}

// `openai.responses`, `openai.chat`, `anthropic.messages`, `google.generative-ai`: which API is used is not part of the
// name.
function providerOf(model: LanguageModel): string {
  return model.provider.replace(/\.(chat|responses|completion|messages|generative-ai)$/, '')
}
