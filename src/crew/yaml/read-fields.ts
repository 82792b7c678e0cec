// From one entry of a file to the options of an agent or task: each field by its line in the table, everything else refused.
import type { Node } from 'yaml'
import { isMap } from 'yaml'
import { RepriseError } from '../../errors.ts'
import { nearest } from '../../options.ts'
import { invalid, type Entry, type YamlDocument } from './document.ts'
import type { Field } from './fields.ts'
import type { Known } from './references.ts'
import { booleanOf, isOff, shown, type FieldValue } from './values.ts'

export interface Reading {
  readonly document: YamlDocument
  readonly kind: 'agent' | 'task'
  readonly fields: readonly Field[]
  readonly required: readonly string[]
  /** The name of the option of crewFromYaml that holds what is given in TypeScript. */
  readonly inCode: string
}

type Options = { readonly [option: string]: unknown }

/** The options, with those of the code in place of the file's. CREW_INVALID names file, line, field and value. */
export function readFields(reading: Reading, entry: Entry, known: Known, code: Options): Options {
  const { document, kind, required } = reading
  const what = `${kind} ${entry.name}`
  const refuse = (problem: string, at: Node): RepriseError => invalid(`${document.place(at)}: ${what}: ${problem}`)
  const { value } = entry
  if (!isMap(value)) {
    throw refuse(
      `it is ${shown(value)}, but must have fields: write ${required.join(': and ')}: indented below`,
      entry.key,
    )
  }
  const options: { [option: string]: unknown } = {}
  const seen = new Map<string, Entry>()
  for (const field of document.entries(value)) {
    const row = rowOf(reading, field, refuse)
    const twin = seen.get(row.option)
    // all that says nothing is as if it were left out
    if (field.value === undefined) continue
    if (twin) throw refuse(`${twin.name} and ${field.name} say the same thing; keep one`, field.key)
    // what the code says is not read from the file, so it need not be right there
    if (code[row.option] !== undefined) continue
    const read = readField(reading, row, { ...field, value: field.value }, known, refuse)
    if (row.is === 'taken') seen.set(row.option, field)
    if (read !== undefined) options[row.option] = read
  }
  const said = Object.entries(code).filter(([, given]) => given !== undefined)
  const all: Options = { ...options, ...Object.fromEntries(said) }
  for (const option of required) {
    if (all[option] !== undefined) continue
    const empty = seen.get(option)
    throw empty
      ? refuse(`${empty.name} is empty; give it a text`, empty.key)
      : refuse(`${option} is missing; every ${kind} needs ${required.join(' and ')}`, entry.key)
  }
  return all
}

type Refuse = (problem: string, at: Node) => RepriseError

function rowOf({ fields, kind }: Reading, { name, key }: Entry, refuse: Refuse): Field {
  // CrewAI's names first: `guardrails` is one of them, and also what `guardrail` is called here
  const found = fields.find((field) => field.names[0] === name) ?? fields.find((field) => field.names.includes(name))
  if (found) return found
  const near = nearest(
    name,
    fields.flatMap((field) => field.names),
  )
  const usual = fields.flatMap((field) => (field.is === 'taken' ? [field.names[0]] : [])).join(', ')
  const meant = near === undefined ? '' : `; did you mean ${near}?`
  const one = kind === 'agent' ? 'an agent' : 'a task'
  throw refuse(`there is no field ${JSON.stringify(name)}${meant} (${one} has ${usual})`, key)
}

type Given = Omit<Entry, 'value'> & Pick<FieldValue, 'value'>

function readField(reading: Reading, row: Field, given: Given, known: Known, refuse: Refuse): unknown {
  const { name, key, value } = given
  switch (row.is) {
    case 'taken':
      return row.read(
        { document: reading.document, value, refuse: (problem, at = key) => refuse(`${name} ${problem}`, at) },
        known,
      )
    case 'lacking': {
      if (row.harmless === undefined ? isOff(value) : booleanOf(value) === row.harmless) return undefined
      const instead = row.instead === undefined ? 'leave it out' : `leave it out, and ${row.instead}`
      throw refuse(`${name} is ${shown(value)}, which this version of Reprise does not have; ${instead}`, key)
    }
    case 'code': {
      if (isOff(value)) return undefined
      const where = `${reading.inCode}: { ${known.self}: { ${row.give} } }`
      throw refuse(
        `${name} is ${shown(value)}, but what it needs cannot be written in YAML; give it in the code: ${where}`,
        key,
      )
    }
    case 'detail':
      return undefined
  }
}

/** What the classes themselves refuse, with the place of the agent or task in the file. */
export function placed<T>({ document }: Reading, entry: Entry, make: () => T): T {
  try {
    return make()
  } catch (error) {
    if (!RepriseError.isInstance(error)) throw error
    throw new RepriseError(error.code, `${document.place(entry.key)}: ${error.message}`, { cause: error })
  }
}
