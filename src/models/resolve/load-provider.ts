// Imports the packages of providers, when a model is opened.
import type { LanguageModel } from './resolve-model.ts'

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
