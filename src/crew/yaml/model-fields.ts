// The model of an agent and its settings. In CrewAI's JSON files, both may be below `llm`, and agent fields below
// `settings`.
import { isMap, Scalar } from 'yaml'
import type { Json } from '../../journal/json.ts'
import type { LanguageModel } from '../../models/resolve/resolve-model.ts'
import { settingNames } from '../../models/resolve/settings.ts'
import { ownMember } from '../../base/options.ts'
import { model as named, type NameScope } from './references.ts'
import { isOff, mapping, text, scalarText, type FieldValue } from './yaml-values.ts'

export interface ModelField {
  readonly model: LanguageModel | string | undefined
  readonly settings?: { readonly [name: string]: Json }
}

/** Model settings by CrewAI's names. */
const settingByCrewaiName: { readonly [crewai: string]: string } = {
  temperature: 'temperature',
  max_tokens: 'maxOutputTokens',
  max_completion_tokens: 'maxOutputTokens',
  top_p: 'topP',
  presence_penalty: 'presencePenalty',
  frequency_penalty: 'frequencyPenalty',
  stop: 'stopSequences',
  seed: 'seed',
  reasoning_effort: 'reasoning',
  timeout: 'timeoutSeconds',
}

/**
 * A text, or a mapping with `model`, an optional `provider`, and settings. Addresses and keys need code: a model found
 * by its name in `models`.
 */
export function model(field: FieldValue, known: Pick<NameScope, 'models'>): ModelField {
  const { document, value } = field
  if (!isMap(value)) return { model: named(field, known) }
  const entries = document.entries(value)
  const fieldText = (name: string): string | undefined => {
    const found = entries.find((entry) => entry.name === name)?.value
    return found && text({ ...field, value: found })
  }
  const written = fieldText('model') ?? fieldText('deployment_name')
  if (written === undefined) {
    throw field.refuse(`has no model; write provider/model, or give it in the code: ${field.inCode('model: …')}`)
  }
  const provider = fieldText('provider')
  const name = provider === undefined || written.startsWith(`${provider}/`) ? written : `${provider}/${written}`
  const fromCode = ownMember(known.models, name)
  const modelSettings: { [name: string]: Json } = {}
  for (const { name: inner, key, value: given } of entries) {
    if (identity.includes(inner) || given === undefined) continue
    const setting = ownMember(settingByCrewaiName, inner)
    if (setting !== undefined) {
      const plain = plainValue(field, inner)
      modelSettings[setting] = setting === 'stopSequences' && typeof plain === 'string' ? [plain] : plain
    } else if (fromCode === undefined && !isOff(given) && !isUsualAddress(name, inner, scalarText(given))) {
      const words = `has ${inner}, which needs code; give the model there`
      throw field.refuse(`${words}: models: { ${JSON.stringify(name)}: … }`, key)
    }
  }
  return { model: fromCode ?? named({ ...field, value: new Scalar(name) }, known), settings: modelSettings }
}

const identity = ['model', 'deployment_name', 'provider']

/** True for Ollama's default address, which needs no code. */
function isUsualAddress(name: string, field: string, value = ''): boolean {
  if (!name.startsWith('ollama') || !['base_url', 'api_base'].includes(field)) return false
  return /^http:\/\/(localhost|127\.0\.0\.1):11434\/?(v1\/?)?$/.test(value)
}

function plainValue(field: FieldValue, name: string): Json {
  return mapping(field, (inner) => inner === name)[name] ?? null
}

/** Model settings. `isField` excludes fields of the agent. */
export function settings(
  field: FieldValue,
  isField: (name: string) => boolean,
): { readonly [name: string]: Json } | undefined {
  const found = mapping(field, (name) => !isField(name), settingNames)
  return Object.keys(found).length === 0 ? undefined : found
}
