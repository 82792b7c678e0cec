// Models as people write them: `provider/model`, by any name of the provider; and those of OpenAI, Anthropic, Google
// and Bedrock without one, as CrewAI takes them. Everything that keeps or shows a model has the provider's own name.
import { nearest } from '../../base/options.ts'
import { findProvider, providerNames, findProviderByModel, type Provider } from './providers.ts'

export interface NamedModel {
  /** `provider/model` */
  readonly name: string
  readonly id: string
  readonly provider: Provider
}

/** Undefined for a name without a known provider. */
export function readModelName(written: string): NamedModel | undefined {
  const slash = written.indexOf('/')
  const provider = slash < 0 ? findProviderByModel(written) : findProvider(written.slice(0, slash))
  const id = written.slice(slash + 1)
  return provider === undefined || id.trim() === '' ? undefined : { name: `${provider.name}/${id}`, id, provider }
}

/** Which providers there are, and what may have been meant, for an error about a name that has none of them. */
export function knownProviders(written: string): string {
  const meant = suggestion(written)
  return `${providerNames.join(', ')}${meant === undefined ? '' : ` (did you mean ${JSON.stringify(meant)}?)`}`
}

// Only what is sure to be served there: most open models are served by several providers under different names.
function suggestion(written: string): string | undefined {
  const slash = written.indexOf('/')
  const id = written.slice(slash + 1)
  const provider = slash > 0 ? nearest(written.slice(0, slash), providerNames) : undefined
  if (provider !== undefined) return `${provider}/${id}`
  const owner = findProviderByModel(id)?.name ?? providerNames.find((name) => id.startsWith(`${name}-`))
  // llama3:8b is how Ollama names what it serves
  if (/^[a-z][\w.-]*:[\w.-]+$/i.test(written) && findProviderByModel(written) === undefined) return `ollama/${written}`
  return owner === undefined ? undefined : `${owner}/${id}`
}
