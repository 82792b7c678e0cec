// Reads names of models as users write them: `provider/model`, with any alias of the provider; and, as in CrewAI,
// without a provider for models of OpenAI, Anthropic, Google and Bedrock. Stored and shown names have the provider's
// canonical name.
import { nearest } from '../../base/options.ts'
import { findProvider, providerNames, findProviderByModel, type Provider } from './providers.ts'

export interface NamedModel {
  /** `provider/model` */
  readonly name: string
  readonly id: string
  readonly provider: Provider
}

/** Undefined if the provider is not known. */
export function readModelName(written: string): NamedModel | undefined {
  const slash = written.indexOf('/')
  const provider = slash < 0 ? findProviderByModel(written) : findProvider(written.slice(0, slash))
  const id = written.slice(slash + 1)
  return provider === undefined || id.trim() === '' ? undefined : { name: `${provider.name}/${id}`, id, provider }
}

/** The known providers and a suggestion, for an error about an unknown provider. */
export function knownProviders(written: string): string {
  const meant = suggestion(written)
  return `${providerNames.join(', ')}${meant === undefined ? '' : ` (did you mean ${JSON.stringify(meant)}?)`}`
}

// Only suggests what the provider surely serves: several providers serve most open models, under different names.
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
