// The providers that a model string can name: what each needs, and how its model object is made. Packages are imported
// when a model is opened; those that do not come with Reprise are checked beforehand, so that the error can say what to
// install.
import { environment, keysSet, keysUnfit, type Environment } from '../../environment.ts'
import { RepriseError } from '../../errors.ts'
import { isInstalled } from '../../optional-package.ts'
import { describe } from '../../options.ts'
import { redact } from '../../secrets/redact.ts'
import type { LanguageModel } from './resolve-model.ts'

export interface Provider {
  readonly keyVariable: string | undefined
  /** Read where that is not set. */
  readonly otherKeyVariable?: string
  /** What the user has to install for it. */
  readonly package?: string
  /** The environment variable that holds its address, and the value of that. */
  readonly address?: { readonly variable: string; read(settings: Environment): string | undefined }
  /** Whether the credentials that it needs are set. */
  ready(settings: Environment): boolean
  open(id: string): Promise<LanguageModel>
}

const providers: { readonly [name: string]: Provider } = {
  openai: {
    keyVariable: 'OPENAI_API_KEY',
    address: { variable: 'OPENAI_BASE_URL', read: (settings) => settings.openaiBaseUrl },
    // Self-hosted servers often need no key; the server itself says if it does.
    ready: (settings) => settings.openaiKey !== undefined || settings.openaiBaseUrl !== undefined,
    async open(id) {
      const { openaiBaseUrl, openaiKey } = environment()
      // Chat completions is what OpenAI-compatible servers speak; only OpenAI itself is asked through its own API.
      if (openaiBaseUrl !== undefined) return compatible('openai', openaiBaseUrl, openaiKey, id)
      const { createOpenAI } = await import('@ai-sdk/openai')
      // The base URL is spelled out, or the package would read the environment itself.
      return createOpenAI({ apiKey: openaiKey!, baseURL: 'https://api.openai.com/v1' }).responses(id)
    },
  },
  anthropic: {
    keyVariable: 'ANTHROPIC_API_KEY',
    address: { variable: 'ANTHROPIC_BASE_URL', read: (settings) => settings.anthropicBaseUrl },
    package: '@ai-sdk/anthropic',
    ready: (settings) => settings.anthropicKey !== undefined,
    async open(id) {
      const { createAnthropic } = await load<'createAnthropic'>('@ai-sdk/anthropic')
      const { anthropicKey, anthropicBaseUrl } = environment()
      return createAnthropic({ apiKey: anthropicKey, ...(anthropicBaseUrl && { baseURL: anthropicBaseUrl }) })(id)
    },
  },
  google: {
    keyVariable: 'GOOGLE_GENERATIVE_AI_API_KEY',
    otherKeyVariable: 'GEMINI_API_KEY',
    package: '@ai-sdk/google',
    ready: (settings) => settings.googleKey !== undefined,
    async open(id) {
      const google = await load<'createGoogle' | 'createGoogleGenerativeAI'>('@ai-sdk/google')
      // The first name is new in version 4 of the package, the second is being phased out.
      const create = google.createGoogle ?? google.createGoogleGenerativeAI
      return create({ apiKey: environment().googleKey })(id)
    },
  },
  ollama: {
    keyVariable: undefined,
    address: { variable: 'OLLAMA_BASE_URL', read: (settings) => settings.ollamaBaseUrl },
    ready: () => true,
    open: (id) => compatible('ollama', environment().ollamaBaseUrl ?? 'http://127.0.0.1:11434/v1', undefined, id),
  },
}

export const providerNames: readonly string[] = Object.keys(providers)

export function findProvider(name: string): Provider | undefined {
  return Object.hasOwn(providers, name) ? providers[name] : undefined
}

/**
 * MODEL_INVALID when its package is missing or its address is invalid, MODEL_KEY_MISSING when its key is missing or
 * invalid.
 */
export function checkProvider(model: { readonly name: string; readonly provider: Provider }): void {
  const { name, provider } = model
  if (provider.package !== undefined && !isInstalled(provider.package)) {
    throw new RepriseError('MODEL_INVALID', `model ${name} needs a package: run npm install ${provider.package}`)
  }
  if (!provider.ready(environment())) {
    throw new RepriseError('MODEL_KEY_MISSING', `model ${name} needs an API key: set ${provider.keyVariable}`)
  }
  const inUse = keysSet().filter(
    (key) => key.set && [provider.keyVariable, provider.otherKeyVariable].includes(key.name),
  )
  const variable = inUse[0]?.name
  if (variable !== undefined && keysUnfit().includes(variable)) {
    const words = `model ${name} cannot be asked: ${variable} has a line break or another character that no key has; set it again`
    throw new RepriseError('MODEL_KEY_MISSING', words)
  }
  const address = provider.address?.read(environment())
  if (address === undefined || /^https?:$/.test(URL.parse(address)?.protocol ?? '')) return
  // it may begin with a name and a password
  const shown = describe(redact(address.replace(/^.*@/s, '')))
  const words = `model ${name} cannot be reached: ${provider.address?.variable} is ${shown}; set it to a whole address, such as http://127.0.0.1:8080/v1`
  throw new RepriseError('MODEL_INVALID', words)
}

async function compatible(
  name: string,
  baseURL: string,
  apiKey: string | undefined,
  id: string,
): Promise<LanguageModel> {
  const { createOpenAICompatible } = await import('@ai-sdk/openai-compatible')
  // Without supportsStructuredOutputs the schema of an answer is silently left out of the request.
  const settings = { name, baseURL, includeUsage: true, supportsStructuredOutputs: true }
  return createOpenAICompatible(apiKey === undefined ? settings : { ...settings, apiKey })(id)
}

type Factory = (settings: { apiKey: string | undefined; baseURL?: string }) => (id: string) => LanguageModel

// The name is passed as a variable: the compiler must not look for a package that only some users have.
async function load<Name extends string>(specifier: string): Promise<Record<Name, Factory>> {
  return (await import(specifier)) as Record<Name, Factory>
}
