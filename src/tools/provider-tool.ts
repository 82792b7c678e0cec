// Tools that a provider defines, as the AI SDK's packages give them: openai.tools.webSearch(), anthropic.tools.bash().
// A model knows them by an id and by how they are set up. In a journal and in fingerprints they are kept without the
// credentials that they are set up with, which are put in again when a request is sent.
import { RepriseError } from '../errors.ts'
import type { ProviderTool, ToolDefinition, ToolSendOptions } from '../journal/entries.ts'
import { digest } from '../journal/hash.ts'
import { strictJson, type Json } from '../journal/json.ts'
import { remember, secretsIn } from '../secrets/known.ts'
import { redact } from '../secrets/redact.ts'
import type { Tool } from './tool.ts'

/** CREW_INVALID for what cannot be kept, and for a tool that would ask where nobody can answer. */
export function keptProvider(name: string, provider: ProviderTool): ProviderTool {
  const what = `tool ${name} (${provider.id})`
  const json = strictJson(cleanedByProvider(provider.args), 'args')
  if (!json.ok) {
    const words = `${what} has ${json.found} as ${json.path}, which cannot be kept in a journal; give it as JSON`
    throw new RepriseError('CREW_INVALID', words)
  }
  const args = withoutSecrets(json.value, '') as ProviderTool['args']
  const { requireApproval = 'never' } = args
  if (requireApproval !== 'never') {
    const words = `${what} has requireApproval: ${JSON.stringify(requireApproval)}, and the provider would ask within its reply, where nobody can answer; leave it out, and allow only tools that need no approval`
    throw new RepriseError('CREW_INVALID', words)
  }
  return { ...provider, args }
}

/** What a provider is told about a tool besides. CREW_INVALID for what cannot be kept in a journal. */
export function checkOptions(name: string, options: ToolSendOptions): void {
  const json = strictJson(options, 'options')
  if (json.ok) return
  throw new RepriseError('CREW_INVALID', `tool ${name} has ${json.found} at ${json.path}, which JSON does not carry`)
}

/** Packages of providers mark what is secret in the set-up of a tool, for the SDK's telemetry. */
function cleanedByProvider(args: object): unknown {
  const clean: unknown = Object.getOwnPropertyDescriptor(args, Symbol.for('vercel.ai.telemetry.redact'))?.value
  return typeof clean === 'function' ? (clean as (args: object) => unknown)(args) : args
}

/**
 * What a request has of a tool: as it was pinned, with the credentials that the journal does not have, from the same
 * tool of today's code.
 */
export function withArgs(pinned: ToolDefinition, tools: readonly Tool[]): ToolDefinition {
  const { name, provider } = pinned
  const tool = provider && tools.find((candidate) => candidate.name === name)
  if (!tool?.provider || digest({ ...keptProvider(name, tool.provider) }) !== digest({ ...provider })) return pinned
  return { ...pinned, provider: tool.provider }
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
