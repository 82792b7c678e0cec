// The packages that model objects come from, imported when a model is opened.
import type { LanguageModel } from './resolve-model.ts'

type Factory = (settings: object) => ((id: string) => LanguageModel) & { chat(id: string): LanguageModel }

/** The name is a variable: neither the compiler nor a bundler must look for a package that only some users have. */
export async function load(specifier: string): Promise<{ readonly [factory: string]: Factory }> {
  return (await import(specifier)) as { readonly [factory: string]: Factory }
}

/** Chat completions, which comes with Reprise. */
export async function compatible(
  name: string,
  id: string,
  { apiKey, baseURL }: { readonly apiKey: string | undefined; readonly baseURL: string },
): Promise<LanguageModel> {
  const { createOpenAICompatible } = await import('@ai-sdk/openai-compatible')
  // Without supportsStructuredOutputs the schema of an answer is silently left out of the request.
  const settings = { name, baseURL, includeUsage: true, supportsStructuredOutputs: true }
  return createOpenAICompatible(apiKey === undefined ? settings : { ...settings, apiKey })(id)
}
