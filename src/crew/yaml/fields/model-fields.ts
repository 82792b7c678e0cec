// The model of an agent and its settings. CrewAI's JSON files may give both below `llm`, and have fields of the agent
// below `settings`.
import { isMap, Scalar } from 'yaml'
import type { Json } from '../../journal/json.ts'
import type { LanguageModel } from '../../models/resolve/resolve-model.ts'
import { settingNames } from '../../models/resolve/settings.ts'
import { own } from '../../options.ts'
import { model as named, type Known } from './references.ts'
import { isOff, mapping, text, type FieldValue } from './yaml-values.ts'

export interface SpokenModel {
  readonly model: LanguageModel | string | undefined
  readonly settings?: { readonly [name: string]: Json }
}

/** CrewAI's names for what a model may be told. */
const settingOf: { readonly [crewai: string]: string } = {
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

/** A text, or a mapping with `model`, perhaps its `provider`, and settings. */
export function model(field: FieldValue, known: Known): SpokenModel {
  const { document, value } = field
  if (!isMap(value)) return { model: named(field, known) }
  const entries = document.entries(value)
  const said = (name: string): string | undefined => {
    const found = entries.find((entry) => entry.name === name)?.value
    return found && text({ ...field, value: found })
  }
  const written = said('model')
  if (written === undefined) {
    throw field.refuse(`has no model; write provider/model, or give it in the code: ${field.inCode('model: …')}`)
  }
  const told: { [name: string]: Json } = {}
  for (const { name, key, value: inner } of entries) {
    if (name === 'model' || name === 'provider' || inner === undefined || isOff(inner)) continue
    const setting = own(settingOf, name)
    if (setting === undefined) {
      const words = `has ${name}, which only the code can say of a model; give the model there`
      throw field.refuse(`${words}: ${field.inCode('model: …')}`, key)
    }
    const plain = plainValue(field, name)
    told[setting] = setting === 'stopSequences' && typeof plain === 'string' ? [plain] : plain
  }
  const provider = said('provider')
  const name = provider === undefined || written.startsWith(`${provider}/`) ? written : `${provider}/${written}`
  return { model: named({ ...field, value: new Scalar(name) }, known), settings: told }
}

function plainValue(field: FieldValue, name: string): Json {
  return mapping(field, (inner) => inner === name)[name] ?? null
}

/** Those that are for the model. `isField` says which of the others are fields of the agent. */
export function settings(
  field: FieldValue,
  isField: (name: string) => boolean,
): { readonly [name: string]: Json } | undefined {
  const found = mapping(field, (name) => !isField(name), settingNames)
  return Object.keys(found).length === 0 ? undefined : found
}
