// Providers that need more than a key, or a special way to create their model objects.
import { firstSet } from '../../base/environment.ts'
import { describe } from '../../base/options.ts'
import type { Access } from './provider-access.ts'
import type { LanguageModel } from './resolve-model.ts'

export interface SpecialProvider {
  /**
   * Returns what isn't set and how to set it, such as `an API key: set OPENAI_API_KEY`; undefined if nothing is
   * missing. Default: checks the key.
   */
  readonly missing?: (id: string, access: Access) => string | undefined
  /** Default: calls `factory` of the package. */
  readonly open?: (id: string, access: Access) => Promise<LanguageModel>
  /** The variables that are read besides those of key and address. */
  readonly otherVariables?: readonly string[]
  /** The variables that a new project has to set. Default: the first variable of `keys`. */
  readonly variablesToSet?: readonly string[]
}

export const openai: SpecialProvider = {
  // self-hosted servers often need no key, and report an error if they need one
  missing: (_, { apiKey, address }) =>
    (apiKey ?? address) === undefined ? 'an API key: set OPENAI_API_KEY' : undefined,
  async open(id, { apiKey, address }) {
    // compatible servers support chat completions; only OpenAI itself has the responses API
    if (address !== undefined) return compatible('openai', id, { apiKey, baseURL: address })
    const { createOpenAI } = await import('@ai-sdk/openai')
    // with an explicit base URL, so that the package does not read the environment
    return createOpenAI({ apiKey: apiKey!, baseURL: 'https://api.openai.com/v1' }).responses(id)
  },
}

const resourceVariables = ['AZURE_RESOURCE_NAME']
const apiVersionVariables = ['AZURE_API_VERSION', 'OPENAI_API_VERSION']

export const azure: SpecialProvider = {
  otherVariables: [...resourceVariables, ...apiVersionVariables],
  variablesToSet: ['AZURE_API_KEY', ...resourceVariables],
  missing(_, { apiKey, address }) {
    if (apiKey === undefined) return 'an API key: set AZURE_API_KEY or AZURE_OPENAI_API_KEY'
    if (address !== undefined) return undefined
    const name = firstSet(resourceVariables)?.value
    if (name === undefined)
      return 'an address: set AZURE_RESOURCE_NAME, or AZURE_BASE_URL to https://….openai.azure.com'
    // checked strictly, since the name becomes part of the URL to which the key is sent
    if (/^[a-z\d]([a-z\d-]{0,61}[a-z\d])?$/i.test(name)) return undefined
    return `a valid resource name: AZURE_RESOURCE_NAME is ${describe(name)}; set it to letters, digits and hyphens`
  },
  async open(id, { apiKey, address }) {
    const { createAzure } = await load('@ai-sdk/azure')
    const endpoint = address ?? `https://${firstSet(resourceVariables)?.value}.openai.azure.com`
    // users copy the URL with more or less of the path
    const root = endpoint.replace(/\/(openai(\/v1|\/deployments\/.*)?|models)$/, '')
    const version = firstSet(apiVersionVariables)?.value ?? ''
    // a date means the older API: chat completions, with the deployment in the URL
    if (/^\d/.test(version)) {
      const settings = { apiKey, baseURL: `${root}/openai`, apiVersion: version, useDeploymentBasedUrls: true }
      return createAzure!(settings).chat(id)
    }
    return createAzure!({ apiKey, baseURL: `${root}/openai/v1` })(id)
  },
}

const accessKeyVariables = ['AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY', 'AWS_SESSION_TOKEN']
const regionVariables = ['AWS_REGION', 'AWS_DEFAULT_REGION', 'AWS_REGION_NAME']

export const bedrock: SpecialProvider = {
  otherVariables: [...accessKeyVariables, ...regionVariables],
  variablesToSet: ['AWS_BEARER_TOKEN_BEDROCK', 'AWS_REGION'],
  missing(_, { apiKey }) {
    const signed = accessKeyVariables.slice(0, 2).every((name) => firstSet([name]))
    if (apiKey === undefined && !signed) {
      return 'credentials: set AWS_BEARER_TOKEN_BEDROCK, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY'
    }
    return firstSet(regionVariables) ? undefined : 'a region: set AWS_REGION, to us-east-1 for example'
  },
  async open(id, { apiKey, address }) {
    const { createAmazonBedrock } = await load('@ai-sdk/amazon-bedrock')
    // without a key, the package reads the access key from the environment
    return createAmazonBedrock!({ apiKey, baseURL: address, region: firstSet(regionVariables)?.value })(id)
  },
}

const projectVariables = ['GOOGLE_VERTEX_PROJECT', 'GOOGLE_CLOUD_PROJECT']
const locationVariables = ['GOOGLE_VERTEX_LOCATION', 'GOOGLE_CLOUD_LOCATION']

export const vertex: SpecialProvider = {
  otherVariables: [...projectVariables, ...locationVariables],
  variablesToSet: ['GOOGLE_VERTEX_PROJECT', 'GOOGLE_VERTEX_LOCATION'],
  missing(id, { apiKey }) {
    if (apiKey !== undefined && !isClaude(id)) return undefined
    const key = isClaude(id) ? '' : '; or GOOGLE_VERTEX_API_KEY alone'
    if (!firstSet(projectVariables)) return `a project: set ${projectVariables.join(' or ')}${key}`
    if (!firstSet(locationVariables))
      return `a location: set ${locationVariables.join(' or ')}, to global for example${key}`
    return undefined
  },
  async open(id, { apiKey, address }) {
    const root = address?.replace(/\/publishers\/.*$/, '')
    const place = { project: firstSet(projectVariables)?.value, location: firstSet(locationVariables)?.value }
    if (!isClaude(id)) {
      const settings = { ...place, apiKey, baseURL: root && `${root}/publishers/google` }
      return (await openOnce('@ai-sdk/google-vertex', 'createGoogleVertex', settings))(id)
    }
    // without a project id, the package would search for one, which takes seconds
    const googleAuthOptions = { projectId: place.project }
    const settings = { ...place, googleAuthOptions, baseURL: root && `${root}/publishers/anthropic/models` }
    return (await openOnce('@ai-sdk/google-vertex/anthropic', 'createGoogleVertexAnthropic', settings))(id)
  },
}

const openProviders = new Map<string, (id: string) => LanguageModel>()

/** Creates each provider once, because it caches a token: a new provider would fetch a token for every call. */
async function openOnce(specifier: string, factory: string, settings: object): Promise<(id: string) => LanguageModel> {
  const credentials = firstSet(['GOOGLE_APPLICATION_CREDENTIALS'])?.value
  const key = JSON.stringify([specifier, settings, credentials])
  const provider = openProviders.get(key) ?? (await load(specifier))[factory]!(settings)
  openProviders.set(key, provider)
  return provider
}

/**
 * On Vertex, Claude has its own protocol, and takes credentials of `gcloud auth` or a service account instead of a key.
 */
function isClaude(id: string): boolean {
  return id.startsWith('claude')
}

export const openrouter: SpecialProvider = {
  async open(id, { apiKey, address }) {
    const { createOpenRouter } = await load('@openrouter/ai-sdk-provider')
    // strict mode also requests the usage of streamed replies
    return createOpenRouter!({ apiKey, baseURL: address, compatibility: 'strict' })(id)
  },
}

type Factory = (settings: object) => ((id: string) => LanguageModel) & { chat(id: string): LanguageModel }

/** Imports a package by a variable name, so that bundlers don't look for packages that only some users have. */
export async function load(specifier: string): Promise<{ readonly [factory: string]: Factory }> {
  return (await import(specifier)) as { readonly [factory: string]: Factory }
}

/** Opens a model with the chat completions protocol. Its package comes with Reprise. */
export async function compatible(
  name: string,
  id: string,
  { apiKey, baseURL }: { readonly apiKey: string | undefined; readonly baseURL: string },
): Promise<LanguageModel> {
  const { createOpenAICompatible } = await import('@ai-sdk/openai-compatible')
  // without supportsStructuredOutputs, the package leaves the schema of an answer out of the request
  const settings = { name, baseURL, includeUsage: true, supportsStructuredOutputs: true }
  return createOpenAICompatible(apiKey === undefined ? settings : { ...settings, apiKey })(id)
}
