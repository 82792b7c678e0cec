// What is particular to some providers: what else they need than a key, and how their model objects are made.
import { firstSet } from '../../base/environment.ts'
import { describe } from '../../base/options.ts'
import { compatible, load } from './load-provider.ts'
import type { Access } from './provider-access.ts'
import type { LanguageModel } from './resolve-model.ts'

export interface SpecialProvider {
  /** What is missing and how to set it, after "model x needs"; undefined when nothing is. By default, a key. */
  readonly missing?: (id: string, access: Access) => string | undefined
  /** By default, what `factory` of the package makes. */
  readonly open?: (id: string, access: Access) => Promise<LanguageModel>
  /** The variables that it reads besides those of its key and its address. */
  readonly others?: readonly string[]
  /** What a new project has to set, where that isn't the key alone. */
  readonly toSet?: readonly string[]
}

export const openai: SpecialProvider = {
  // Self-hosted servers often need no key; the server itself says if it does.
  missing: (_, { apiKey, address }) =>
    (apiKey ?? address) === undefined ? 'an API key: set OPENAI_API_KEY' : undefined,
  async open(id, { apiKey, address }) {
    // Chat completions is what OpenAI-compatible servers speak; only OpenAI itself is asked through its own API.
    if (address !== undefined) return compatible('openai', id, { apiKey, baseURL: address })
    const { createOpenAI } = await import('@ai-sdk/openai')
    // The base URL is spelled out, or the package would read the environment itself.
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
    // it becomes part of the address, to which the key is sent
    if (/^[a-z\d]([a-z\d-]{0,61}[a-z\d])?$/i.test(name)) return undefined
    return `the name of a resource: AZURE_RESOURCE_NAME is ${describe(name)}; set it to letters, digits and hyphens`
  },
  async open(id, { apiKey, address }) {
    const { createAzure } = await load('@ai-sdk/azure')
    const given = address ?? `https://${firstSet(resource)?.value}.openai.azure.com`
    // people copy it with more or less of the path
    const root = given.replace(/\/(openai(\/v1|\/deployments\/.*)?|models)$/, '')
    const version = firstSet(apiVersion)?.value ?? ''
    // A date is a version of the older API, which has the deployment in the address and speaks chat completions.
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
    // Without a key, the package reads the access key by itself.
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
    // Without the project there, the package would look for it, for seconds.
    const googleAuthOptions = { projectId: from.project }
    const settings = { ...from, googleAuthOptions, baseURL: root && `${root}/publishers/anthropic/models` }
    return (await openOnce('@ai-sdk/google-vertex/anthropic', 'createGoogleVertexAnthropic', settings))(id)
  },
}

const openProviders = new Map<string, (id: string) => LanguageModel>()

/** Kept for the token that it holds: a new one would fetch another for every call. */
async function openOnce(specifier: string, factory: string, settings: object): Promise<(id: string) => LanguageModel> {
  const credentials = firstSet(['GOOGLE_APPLICATION_CREDENTIALS'])?.value
  const key = JSON.stringify([specifier, settings, credentials])
  const provider = openProviders.get(key) ?? (await load(specifier))[factory]!(settings)
  openProviders.set(key, provider)
  return provider
}

/** Claude has a protocol of its own there, and no keys: only what `gcloud auth` and service accounts give. */
function isClaude(id: string): boolean {
  return id.startsWith('claude')
}

export const openrouter: SpecialProvider = {
  async open(id, { apiKey, address }) {
    const { createOpenRouter } = await load('@openrouter/ai-sdk-provider')
    // strict: with it, the usage is asked for while streaming too
    return createOpenRouter!({ apiKey, baseURL: address, compatibility: 'strict' })(id)
  },
}
