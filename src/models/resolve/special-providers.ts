// Providers that need more than a key, or a special way to create their model objects.
import { firstSet } from '../../base/environment.ts'
import { describe } from '../../base/options.ts'
import type { Access } from './provider-access.ts'
import type { LanguageModel } from './resolve-model.ts'

export interface SpecialProvider {
  /** What is missing and how to set it, after "model x needs". Undefined if nothing is. Default: checks the key. */
  readonly missing?: (id: string, access: Access) => string | undefined
  /** Default: calls `factory` of the package. */
  readonly open?: (id: string, access: Access) => Promise<LanguageModel>
  /** The variables that it reads, besides those of its key and address. */
  readonly others?: readonly string[]
  /** The variables that a new project has to set. Default: the key. */
  readonly toSet?: readonly string[]
}

export const openai: SpecialProvider = {
  // self-hosted servers often need no key, and report an error if they do
  missing: (_, { apiKey, address }) =>
    (apiKey ?? address) === undefined ? 'an API key: set OPENAI_API_KEY' : undefined,
  async open(id, { apiKey, address }) {
    // compatible servers speak chat completions; only OpenAI itself has the responses API
    if (address !== undefined) return compatible('openai', id, { apiKey, baseURL: address })
    const { createOpenAI } = await import('@ai-sdk/openai')
    // with an explicit base URL, so that the package does not read the environment
    return createOpenAI({ apiKey: apiKey!, baseURL: 'https://api.openai.com/v1' }).responses(id)
  },
}

const resource = ['AZURE_RESOURCE_NAME']
const apiVersion = ['AZURE_API_VERSION', 'OPENAI_API_VERSION']

export const azure: SpecialProvider = {
  others: [...resource, ...apiVersion],
  toSet: ['AZURE_API_KEY', ...resource],
  missing(_, { apiKey, address }) {
    if (apiKey === undefined) return 'an API key: set AZURE_API_KEY or AZURE_OPENAI_API_KEY'
    if (address !== undefined) return undefined
    const name = firstSet(resource)?.value
    if (name === undefined)
      return 'an address: set AZURE_RESOURCE_NAME, or AZURE_BASE_URL to https://….openai.azure.com'
    // it becomes part of the URL to which the key is sent
    if (/^[a-z\d]([a-z\d-]{0,61}[a-z\d])?$/i.test(name)) return undefined
    return `the name of a resource: AZURE_RESOURCE_NAME is ${describe(name)}; set it to letters, digits and hyphens`
  },
  async open(id, { apiKey, address }) {
    const { createAzure } = await load('@ai-sdk/azure')
    const given = address ?? `https://${firstSet(resource)?.value}.openai.azure.com`
    // users copy the URL with more or less of its path
    const root = given.replace(/\/(openai(\/v1|\/deployments\/.*)?|models)$/, '')
    const version = firstSet(apiVersion)?.value ?? ''
    // a date is a version of the older API, which has the deployment in the URL and speaks chat completions
    if (/^\d/.test(version)) {
      const settings = { apiKey, baseURL: `${root}/openai`, apiVersion: version, useDeploymentBasedUrls: true }
      return createAzure!(settings).chat(id)
    }
    return createAzure!({ apiKey, baseURL: `${root}/openai/v1` })(id)
  },
}

const accessKey = ['AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY', 'AWS_SESSION_TOKEN']
const region = ['AWS_REGION', 'AWS_DEFAULT_REGION', 'AWS_REGION_NAME']

export const bedrock: SpecialProvider = {
  others: [...accessKey, ...region],
  toSet: ['AWS_BEARER_TOKEN_BEDROCK', 'AWS_REGION'],
  missing(_, { apiKey }) {
    const signed = accessKey.slice(0, 2).every((name) => firstSet([name]))
    if (apiKey === undefined && !signed) {
      return 'credentials: set AWS_BEARER_TOKEN_BEDROCK, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY'
    }
    return firstSet(region) ? undefined : 'a region: set AWS_REGION, to us-east-1 for example'
  },
  async open(id, { apiKey, address }) {
    const { createAmazonBedrock } = await load('@ai-sdk/amazon-bedrock')
    // without a key, the package reads the access key from the environment
    return createAmazonBedrock!({ apiKey, baseURL: address, region: firstSet(region)?.value })(id)
  },
}

const project = ['GOOGLE_VERTEX_PROJECT', 'GOOGLE_CLOUD_PROJECT']
const location = ['GOOGLE_VERTEX_LOCATION', 'GOOGLE_CLOUD_LOCATION']

export const vertex: SpecialProvider = {
  others: [...project, ...location],
  toSet: ['GOOGLE_VERTEX_PROJECT', 'GOOGLE_VERTEX_LOCATION'],
  missing(id, { apiKey }) {
    if (apiKey !== undefined && !isClaude(id)) return undefined
    const key = isClaude(id) ? '' : '; or GOOGLE_VERTEX_API_KEY alone'
    if (!firstSet(project)) return `a project: set ${project.join(' or ')}${key}`
    if (!firstSet(location)) return `a location: set ${location.join(' or ')}, to global for example${key}`
    return undefined
  },
  async open(id, { apiKey, address }) {
    const root = address?.replace(/\/publishers\/.*$/, '')
    const from = { project: firstSet(project)?.value, location: firstSet(location)?.value }
    if (!isClaude(id)) {
      const settings = { ...from, apiKey, baseURL: root && `${root}/publishers/google` }
      return (await openOnce('@ai-sdk/google-vertex', 'createGoogleVertex', settings))(id)
    }
    // without the project, the package would search for it, which takes seconds
    const googleAuthOptions = { projectId: from.project }
    const settings = { ...from, googleAuthOptions, baseURL: root && `${root}/publishers/anthropic/models` }
    return (await openOnce('@ai-sdk/google-vertex/anthropic', 'createGoogleVertexAnthropic', settings))(id)
  },
}

const openProviders = new Map<string, (id: string) => LanguageModel>()

/** Keeps providers, because they hold a token: a new provider would fetch a new token for every call. */
async function openOnce(specifier: string, factory: string, settings: object): Promise<(id: string) => LanguageModel> {
  const credentials = firstSet(['GOOGLE_APPLICATION_CREDENTIALS'])?.value
  const key = JSON.stringify([specifier, settings, credentials])
  const provider = openProviders.get(key) ?? (await load(specifier))[factory]!(settings)
  openProviders.set(key, provider)
  return provider
}

/**
 * On Vertex, Claude has its own protocol, and works with credentials of `gcloud auth` or a service account, not keys.
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

/** Takes the name as a variable, so that compilers and bundlers don't look for packages that only some users have. */
export async function load(specifier: string): Promise<{ readonly [factory: string]: Factory }> {
  return (await import(specifier)) as { readonly [factory: string]: Factory }
}

/** A model that speaks chat completions. Its package comes with Reprise. */
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
