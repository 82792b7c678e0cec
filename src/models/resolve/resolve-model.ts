// From what a user writes as a model to the AI SDK's model object. A string names a provider and means that provider
// itself, never a gateway. Everything that can be wrong with one is found by `checkModel`, without network and before
// anything is spent. No package is loaded before a model is called, so that importing Reprise stays cheap.
import type { LanguageModel as AiLanguageModel } from 'ai'
import { environment } from '../../base/environment.ts'
import { messageOf, RepriseError } from '../../base/errors.ts'
import { describe } from '../../base/options.ts'
import { redact } from '../../secrets/redact.ts'
import { safeCause } from '../model-failure.ts'
import { learnSecrets } from './model-secrets.ts'
import { knownProviders, readModelName, type NamedModel } from './model-names.ts'
import { readAccess, checkProvider, keyVariable } from './provider-access.ts'
import { findProvider, openModel } from './providers.ts'

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
 * `provider/model`, also for a text that has another name of the provider or none (`gemini/…`, `gpt-4o`); as written
 * when it names no known provider. Of an object, its provider and id: `openai/gpt-5-mini` for a provider
 * `openai.responses`.
 */
export function modelName(model: LanguageModel | string | undefined): string {
  const written = model ?? environment().model ?? defaultModel
  if (typeof written === 'string') return readModelName(written)?.name ?? written
  return `${modelProvider(written)}/${written.modelId}`
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

/** MODEL_INVALID for a name without a known provider. Neither its package nor its key need be present. */
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
function modelProvider(model: LanguageModel): string {
  return model.provider.replace(/\.(chat|responses|completion|messages|generative-ai)$/, '')
}
