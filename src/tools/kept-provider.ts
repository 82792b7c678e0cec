// How a tool that a provider defines is kept in a journal and in fingerprints: without the credentials that it is set
// up with. They are put in again when a request is sent.
import type { ProviderTool, ToolDefinition } from '../journal/entries.ts'
import { digest } from '../journal/hash.ts'
import type { Json } from '../journal/json.ts'
import { remember, secretsIn } from '../secrets/known.ts'
import { redact } from '../secrets/redact.ts'
import type { Tool } from './tool.ts'

export function keptProvider(provider: ProviderTool): ProviderTool {
  return { ...provider, args: withoutSecrets(provider.args, '') as ProviderTool['args'] }
}

/**
 * What a request has of a tool: as it was pinned, with the credentials that the journal does not have, from the same
 * tool of today's code.
 */
export function withArgs(pinned: ToolDefinition, tools: readonly Tool[]): ToolDefinition {
  const { name, provider } = pinned
  const tool = provider && tools.find((candidate) => candidate.name === name)
  if (
    !provider ||
    !tool?.provider ||
    !tool.args ||
    digest({ ...keptProvider(tool.provider) }) !== digest({ ...provider })
  )
    return pinned
  return { ...pinned, provider: { ...provider, args: tool.args as ProviderTool['args'] } }
}

/** A token for a server that the provider calls must not be in a journal. */
function withoutSecrets(value: Json, name: string): Json {
  if (typeof value === 'string') {
    const secrets = secretsIn([name, value])
    remember(secrets)
    const named = `${name}=${value}`
    return secrets.length === 0 && redact(named) === named ? value : '[redacted]'
  }
  if (Array.isArray(value)) return (value as readonly Json[]).map((item) => withoutSecrets(item, name))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, withoutSecrets(member, key)]))
}
