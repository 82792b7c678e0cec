// The table of providers, one row each: aliases, package, variables, address. docs/decisions/0018-providers.md explains
// how each is called.
import { compatible, load, azure, bedrock, openai, openrouter, vertex } from './special-providers.ts'
import type { SpecialProvider } from './special-providers.ts'
import type { Access } from './provider-access.ts'
import type { LanguageModel } from './resolve-model.ts'

export interface Provider extends SpecialProvider {
  readonly name: string
  /** Other names: those in CrewAI, in LiteLLM and in the provider's package. */
  readonly aliases?: readonly string[]
  /** The models that can be written without the provider. */
  readonly bareNames?: RegExp
  /** The package to install. Without one, the provider is called with the chat completions protocol. */
  readonly package?: string
  /** The package's function that creates the provider. */
  readonly factory?: string
  /** The variables that may have the key. The first variable that is set counts. */
  readonly keys: readonly string[]
  /** The variables that may have the address. */
  readonly addresses: readonly string[]
  /** The default address. */
  readonly url?: string
  /**
   * Appended to an address that doesn't end with a version, as users often write it: https://host means
   * https://host/v1. Default: the path of `url`.
   */
  readonly ending?: string
  /** The package would drop or garble files other than images. The packages of other providers report an error. */
  readonly picturesOnly?: true
  /** The provider's id in the package of prices, and the models for which these prices are correct. Default: all. */
  readonly prices?: { readonly id: string; readonly only?: RegExp }
}

export const providers: readonly Provider[] = [
  {
    name: 'openai',
    bareNames: /^(gpt-(?!oss)|chatgpt-|codex-|ft:gpt-|o\d)/,
    keys: ['OPENAI_API_KEY'],
    addresses: ['OPENAI_BASE_URL', 'OPENAI_API_BASE'],
    url: 'https://api.openai.com/v1',
    // compatible servers have other paths
    ending: '',
    prices: { id: 'openai' },
    ...openai,
  },
  {
    name: 'anthropic',
    aliases: ['claude'],
    bareNames: /^claude-/,
    package: '@ai-sdk/anthropic',
    factory: 'createAnthropic',
    keys: ['ANTHROPIC_API_KEY'],
    addresses: ['ANTHROPIC_BASE_URL'],
    url: 'https://api.anthropic.com/v1',
    prices: { id: 'anthropic' },
  },
  {
    name: 'google',
    aliases: ['gemini'],
    bareNames: /^gemini-/,
    package: '@ai-sdk/google',
    factory: 'createGoogle',
    keys: ['GOOGLE_GENERATIVE_AI_API_KEY', 'GEMINI_API_KEY', 'GOOGLE_API_KEY'],
    addresses: ['GOOGLE_GENERATIVE_AI_BASE_URL', 'GOOGLE_GEMINI_BASE_URL'],
    url: 'https://generativelanguage.googleapis.com/v1beta',
    prices: { id: 'google' },
  },
  {
    name: 'azure',
    aliases: ['azure_openai'],
    package: '@ai-sdk/azure',
    keys: ['AZURE_API_KEY', 'AZURE_OPENAI_API_KEY'],
    addresses: ['AZURE_BASE_URL', 'AZURE_API_BASE', 'AZURE_OPENAI_ENDPOINT', 'AZURE_ENDPOINT'],
    // no prices: a deployment's name doesn't tell its model
    ...azure,
  },
  {
    name: 'bedrock',
    aliases: ['aws', 'amazon-bedrock'],
    // us.anthropic.claude-sonnet-4-20250514-v1:0
    bareNames: /^([a-z-]+\.)?(ai21|amazon|anthropic|cohere|deepseek|meta|mistral|openai|qwen)\.[a-z]/,
    package: '@ai-sdk/amazon-bedrock',
    keys: ['AWS_BEARER_TOKEN_BEDROCK'],
    addresses: ['AWS_ENDPOINT_URL_BEDROCK_RUNTIME', 'AWS_ENDPOINT_URL'],
    prices: { id: 'aws' },
    ...bedrock,
  },
  {
    name: 'vertex',
    aliases: ['vertex_ai', 'google-vertex', 'google.vertex', 'googleVertex.anthropic'],
    package: '@ai-sdk/google-vertex',
    keys: ['GOOGLE_VERTEX_API_KEY'],
    addresses: ['GOOGLE_VERTEX_BASE_URL'],
    // prices of Claude depend on the location
    prices: { id: 'google', only: /^gemini-/ },
    ...vertex,
  },
  {
    name: 'mistral',
    package: '@ai-sdk/mistral',
    factory: 'createMistral',
    keys: ['MISTRAL_API_KEY'],
    addresses: ['MISTRAL_BASE_URL'],
    url: 'https://api.mistral.ai/v1',
    prices: { id: 'mistral' },
  },
  {
    name: 'groq',
    package: '@ai-sdk/groq',
    factory: 'createGroq',
    keys: ['GROQ_API_KEY'],
    addresses: ['GROQ_BASE_URL'],
    url: 'https://api.groq.com/openai/v1',
    prices: { id: 'groq' },
  },
  {
    name: 'xai',
    package: '@ai-sdk/xai',
    factory: 'createXai',
    keys: ['XAI_API_KEY'],
    addresses: ['XAI_BASE_URL'],
    url: 'https://api.x.ai/v1',
    prices: { id: 'x-ai' },
  },
  {
    name: 'deepseek',
    package: '@ai-sdk/deepseek',
    factory: 'createDeepSeek',
    keys: ['DEEPSEEK_API_KEY'],
    addresses: ['DEEPSEEK_BASE_URL'],
    url: 'https://api.deepseek.com',
    picturesOnly: true,
    prices: { id: 'deepseek' },
  },
  {
    name: 'cohere',
    aliases: ['cohere_chat'],
    package: '@ai-sdk/cohere',
    factory: 'createCohere',
    keys: ['COHERE_API_KEY', 'CO_API_KEY'],
    addresses: ['COHERE_BASE_URL', 'CO_API_URL'],
    url: 'https://api.cohere.com/v2',
    picturesOnly: true,
    prices: { id: 'cohere' },
  },
  {
    name: 'openrouter',
    package: '@openrouter/ai-sdk-provider',
    keys: ['OPENROUTER_API_KEY'],
    addresses: ['OPENROUTER_BASE_URL'],
    url: 'https://openrouter.ai/api/v1',
    prices: { id: 'openrouter' },
    ...openrouter,
  },
  {
    name: 'together',
    aliases: ['together_ai', 'togetherai'],
    keys: ['TOGETHER_API_KEY', 'TOGETHERAI_API_KEY', 'TOGETHER_AI_API_KEY'],
    addresses: ['TOGETHER_BASE_URL'],
    url: 'https://api.together.xyz/v1',
    prices: { id: 'together' },
  },
  {
    name: 'fireworks',
    aliases: ['fireworks_ai'],
    package: '@ai-sdk/fireworks',
    factory: 'createFireworks',
    keys: ['FIREWORKS_API_KEY', 'FIREWORKS_AI_API_KEY'],
    addresses: ['FIREWORKS_BASE_URL'],
    url: 'https://api.fireworks.ai/inference/v1',
    prices: { id: 'fireworks' },
  },
  {
    name: 'ollama',
    aliases: ['ollama_chat'],
    keys: [],
    addresses: ['OLLAMA_BASE_URL', 'OLLAMA_API_BASE'],
    url: 'http://127.0.0.1:11434/v1',
    missing: () => undefined,
  },
]

export const providerNames: readonly string[] = providers.map((provider) => provider.name)

const byName = new Map(
  providers.flatMap((provider) => [provider.name, ...(provider.aliases ?? [])].map((name) => [name, provider])),
)

/** Finds a provider by name or alias. */
export function findProvider(name: string): Provider | undefined {
  return byName.get(name)
}

/** The provider of a model that is written without one. */
export function findProviderByModel(model: string): Provider | undefined {
  return providers.find(({ bareNames }) => bareNames?.test(model))
}

/** Opens a model. Call `checkProvider` first. */
export async function openModel(provider: Provider, id: string, access: Access): Promise<LanguageModel> {
  if (provider.open) return provider.open(id, access)
  const { apiKey, address: baseURL = provider.url! } = access
  if (provider.package === undefined) return compatible(provider.name, id, { apiKey, baseURL })
  const { [provider.factory!]: create } = await load(provider.package)
  return create!({ apiKey, baseURL })(id)
}
