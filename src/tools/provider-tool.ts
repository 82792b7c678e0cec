// Tools that a provider defines, as the AI SDK's packages give them: openai.tools.webSearch(), anthropic.tools.bash().
// A model knows them by an id and by how they are set up. Some are executed by the provider within a reply, so that
// there is nothing to do here; the others are called here like any tool.
import { RepriseError } from '../errors.ts'
import type { ProviderTool, ToolDefinition } from '../journal/entries.ts'
import { digest } from '../journal/hash.ts'
import { strictJson, type Json } from '../journal/json.ts'
import { remember, secretsIn } from '../secrets/known.ts'
import { redact } from '../secrets/redact.ts'
import type { AiTool } from './ai-tool.ts'
import type { Tool } from './tool.ts'

/** Undefined for a tool that no provider defines. CREW_INVALID for one that cannot be used here. */
export function providerToolOf(aiTool: AiTool, what: string): ProviderTool | undefined {
  const { type, id, isProviderExecuted, supportsDeferredResults } = aiTool
  if (type !== 'provider' || typeof id !== 'string') return undefined
  const json = strictJson(cleanedByProvider(aiTool.args ?? {}), 'args')
  if (!json.ok) {
    const words = `${what} (${id}) has ${json.found} as ${json.path}, which cannot be kept in a journal; give it as JSON`
    throw new RepriseError('CREW_INVALID', words)
  }
  const kept = withoutSecrets(json.value, '') as ProviderTool['args']
  const { requireApproval = 'never' } = kept
  if (requireApproval !== 'never') {
    const words = `${what} (${id}) has requireApproval: ${JSON.stringify(requireApproval)}, and the provider would ask within its reply, where nobody can answer; leave it out, and allow only tools that need no approval`
    throw new RepriseError('CREW_INVALID', words)
  }
  return {
    id,
    args: kept,
    ...(isProviderExecuted === true && { executed: true }),
    ...(supportsDeferredResults === true && { deferred: true }),
  }
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
  if (!provider || !tool?.provider || !tool.args || digest({ ...tool.provider }) !== digest({ ...provider }))
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
