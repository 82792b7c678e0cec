// Tools defined by a provider, from the packages of the AI SDK: openai.tools.webSearch(), anthropic.tools.bash(). A
// request has only their ids and arguments. Journals and fingerprints contain the arguments without credentials; those
// are restored before a request is sent.
import { RepriseError } from '../base/errors.ts'
import type { ProviderTool, ToolDefinition, ToolSendOptions } from '../journal/entries.ts'
import { digest } from '../journal/hash.ts'
import { strictJson, type Json } from '../journal/json.ts'
import { remember, secretsIn, secretsInAddress } from '../secrets/known.ts'
import { redact } from '../secrets/redact.ts'
import type { Tool } from './tool.ts'

/**
 * Removes credentials from the arguments. Throws CREW_INVALID for arguments that a journal cannot store, and for tools
 * that ask for approval within a reply.
 */
export function storableProvider(name: string, provider: ProviderTool): ProviderTool {
  const what = `tool ${name} (${provider.id})`
  const json = strictJson(cleanArgs(provider.args), 'args')
  if (!json.ok) {
    const words = `${what} has ${json.found} as ${json.path}, which a journal cannot store; use a JSON value`
    throw new RepriseError('CREW_INVALID', words)
  }
  const args = withoutSecrets(json.value, '') as ProviderTool['args']
  const { requireApproval = 'never' } = args
  if (requireApproval !== 'never') {
    const words = `${what} has requireApproval: ${JSON.stringify(requireApproval)}, so the provider would ask within its reply, where no answer is possible; leave it out, and allow only tools that need no approval`
    throw new RepriseError('CREW_INVALID', words)
  }
  return { ...provider, args }
}

/** Throws CREW_INVALID if the options for the provider are not JSON or contain a credential. */
export function checkSendOptions(name: string, options: ToolSendOptions): void {
  const json = strictJson(options, 'options')
  if (!json.ok)
    throw new RepriseError('CREW_INVALID', `tool ${name} has ${json.found} at ${json.path}, which is not valid JSON`)
  if (digest(withoutSecrets(json.value, '')) === digest(json.value)) return
  const words = `tool ${name} has a credential in its options, which the journal would record; pass it to the provider when you create the model`
  throw new RepriseError('CREW_INVALID', words)
}

/** Removes the arguments that provider packages mark as secret for the SDK's telemetry. */
function cleanArgs(args: object): unknown {
  const clean: unknown = Object.getOwnPropertyDescriptor(args, Symbol.for('vercel.ai.telemetry.redact'))?.value
  return typeof clean === 'function' ? (clean as (args: object) => unknown)(args) : args
}

/**
 * Restores the credentials of a pinned tool from the same tool in today's code. Throws CREW_INVALID if today's tool has
 * none in the same place.
 */
export function restoreArgs(pinned: ToolDefinition, tools: readonly Tool[], run: string): ToolDefinition {
  const { name, provider } = pinned
  if (!provider) return pinned
  const namesake = tools.find((tool) => tool.name === name)?.provider
  const today = namesake?.id === provider.id ? namesake : undefined
  if (today && digest({ ...storableProvider(name, today) }) === digest({ ...provider }))
    return { ...pinned, provider: today }
  const args = restoreRedacted(provider.args, today?.args, `tool ${name}`, run) as ProviderTool['args']
  return { ...pinned, provider: { ...provider, args } }
}

function restoreRedacted(pinned: Json, today: unknown, what: string, run: string): Json {
  if (pinned === redacted) {
    if (typeof today === 'string') return today
    const words = `${what} had a credential that today's code does not have: add it to the code`
    throw new RepriseError('CREW_INVALID', words, { next: { type: 'resume', runId: run, changed: 'restart' } })
  }
  if (typeof pinned !== 'object' || pinned === null) return pinned
  const member = (name: string | number): unknown => (today as { readonly [name: string]: unknown } | undefined)?.[name]
  if (Array.isArray(pinned)) return pinned.map((item: Json, index) => restoreRedacted(item, member(index), what, run))
  return Object.fromEntries(
    Object.entries(pinned).map(([name, value]) => [name, restoreRedacted(value, member(name), what, run)]),
  )
}

const redacted = '[redacted]'
const credentialWord =
  /^(keys?|apikey|token|secret|pass(word|wd)?|pwd|auth(orization)?|credentials?|cookie|bearer|signature|session)$/

/** Redacts credentials, such as tokens for servers that the provider calls. */
function withoutSecrets(value: Json, name: string): Json {
  if (typeof value === 'string') {
    const credentialName = namesCredential(name) ? name : ''
    const secrets = [...secretsIn([credentialName, value]), ...(URL.canParse(value) ? secretsInAddress(value) : [])]
    remember(secrets)
    const named = `${credentialName}=${value}`
    return secrets.length === 0 && redact(named) === named ? value : redacted
  }
  if (Array.isArray(value)) return (value as readonly Json[]).map((item) => withoutSecrets(item, name))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, withoutSecrets(member, key)]))
}

/** Compares whole words: `apiKey` and `authorization` match, `keywords` and `author` don't. */
function namesCredential(name: string): boolean {
  const words = name
    .replaceAll(/([a-z\d])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z]+/)
  return words.some((word) => credentialWord.test(word))
}
