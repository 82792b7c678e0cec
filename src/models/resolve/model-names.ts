// Reads model names as users write them: `provider/model`, with any alias of the provider. For models of OpenAI,
// Anthropic, Google and Bedrock, the model alone suffices, as in CrewAI. Stored and shown names have the canonical name
// of the provider.
import { nearest } from '../../base/options.ts'
import { findProvider, providerNames, findProviderByModel, type Provider } from './providers.ts'

export interface NamedModel {
  /** `provider/model` */
  readonly name: string
  readonly id: string
  readonly provider: Provider
}

/** Returns undefined for an unknown provider. */
export function readModelName(written: string): NamedModel | undefined {
  const slash = written.indexOf('/')
  const provider = slash < 0 ? findProviderByModel(written) : findProvider(written.slice(0, slash))
  const id = written.slice(slash + 1)
  return provider === undefined || id.trim() === '' ? undefined : { name: `${provider.name}/${id}`, id, provider }
}

/** The known providers and perhaps a suggestion, for an error about an unknown provider. */
export function knownProviders(written: string): string {
  const suggested = suggestion(written)
  return `${providerNames.join(', ')}${suggested === undefined ? '' : ` (did you mean ${JSON.stringify(suggested)}?)`}`
}

/** Suggests only what certainly exists: most open models are served by several providers, under different names. */
function suggestion(written: string): string | undefined {
  const slash = written.indexOf('/')
  const id = written.slice(slash + 1)
  const provider = slash > 0 ? nearest(written.slice(0, slash), providerNames) : undefined
  if (provider !== undefined) return `${provider}/${id}`
  const owner = findProviderByModel(id)?.name ?? providerNames.find((name) => id.startsWith(`${name}-`))
  // Ollama's form of names: llama3:8b
  if (/^[a-z][\w.-]*:[\w.-]+$/i.test(written) && findProviderByModel(written) === undefined) return `ollama/${written}`
  return owner === undefined ? undefined : `${owner}/${id}`
}
