// Registers the keys of model objects made in code, such as createOpenAI({ apiKey, headers, baseURL }). Objects of the
// AI SDK have what they send in `config`, which is not part of their types, so it is read defensively. The key of
// another or a wrapped object is only recognised by its shape.
import { remember, secretsIn, secretsInAddress } from '../../secrets/known.ts'
import type { LanguageModel } from './resolve-model.ts'

interface Config {
  readonly headers?: unknown
  readonly baseURL?: unknown
  readonly url?: unknown
}

const seen = new WeakSet<LanguageModel>()

/** Reads each object once, because its headers may come from a user's function that creates a token. Never throws. */
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
    // the model call will report the error
    return undefined
  }
}
