// Tools that a provider defines, as the AI SDK's packages give them: openai.tools.webSearch(), anthropic.tools.bash().
// A model knows them by an id and by how they are set up. Some are executed by the provider within a reply, so that
// there is nothing to do here; the others are called here like any tool.
import { RepriseError } from '../errors.ts'
import type { ProviderTool } from '../journal/entries.ts'
import { strictJson } from '../journal/json.ts'
import type { AiTool } from './ai-tool.ts'

/**
 * Undefined for a tool that no provider defines. CREW_INVALID for one that cannot be used here. How it is set up may
 * hold credentials: `keptProvider` is for journals.
 */
export function providerToolOf(aiTool: AiTool, what: string): ProviderTool | undefined {
  const { type, id, isProviderExecuted, supportsDeferredResults } = aiTool
  if (type !== 'provider' || typeof id !== 'string') return undefined
  const json = strictJson(cleanedByProvider(aiTool.args ?? {}), 'args')
  if (!json.ok) {
    const words = `${what} (${id}) has ${json.found} as ${json.path}, which cannot be kept in a journal; give it as JSON`
    throw new RepriseError('CREW_INVALID', words)
  }
  const args = json.value as ProviderTool['args']
  const { requireApproval = 'never' } = args
  if (requireApproval !== 'never') {
    const words = `${what} (${id}) has requireApproval: ${JSON.stringify(requireApproval)}, but nobody can answer a provider within its reply; leave it out, and allow only tools that need no approval`
    throw new RepriseError('CREW_INVALID', words)
  }
  return {
    id,
    args,
    ...(isProviderExecuted === true && { executed: true }),
    ...(supportsDeferredResults === true && { deferred: true }),
  }
}

/** Packages of providers mark what is secret in the set-up of a tool, for the SDK's telemetry. */
function cleanedByProvider(args: object): unknown {
  const clean: unknown = Object.getOwnPropertyDescriptor(args, Symbol.for('vercel.ai.telemetry.redact'))?.value
  return typeof clean === 'function' ? (clean as (args: object) => unknown)(args) : args
}
