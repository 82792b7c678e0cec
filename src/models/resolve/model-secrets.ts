// The keys of model objects that were made in code: createOpenAI({ apiKey, headers, baseURL }). The objects of the AI
// SDK keep what they send in their `config`, which is not part of their types, so it is read with care. From an object
// that keeps it elsewhere, or is wrapped, nothing is learnt; its key is then recognised only by its shape.
import { remember, secretsIn, secretsInAddress } from '../../secrets/known.ts'
import type { LanguageModel } from './resolve-model.ts'

interface Config {
  readonly headers?: unknown
  readonly baseURL?: unknown
  readonly url?: unknown
}

const seen = new WeakSet<LanguageModel>()

/**
 * Once for each object, since asking for the headers may call a function of the user that makes a token. Never throws.
 */
export function learnSecrets(model: LanguageModel): void {
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
    // the call itself will say what is wrong
    return undefined
  }
}
