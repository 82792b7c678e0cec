// Builds the definition of a task with `forEach` from that of the same task without it. The definition of an item is
// that of the task, with the item filled into its texts, passed to its functions, and digested in its fingerprint.
import type { TaskDefinition } from '../../engine/definition.ts'
import { contextFields } from '../../engine/run/task-context.ts'
import { RepriseError } from '../../base/errors.ts'
import { describe } from '../../base/options.ts'
import { digest } from '../../journal/hash.ts'
import type { Json } from '../../journal/json.ts'
import { filesIn } from '../../journal/files.ts'
import { itemMember, textOfItem } from '../../journal/state/items.ts'
import { parseValue, type AnswerSchema } from '../../schema/answer-schema.ts'
import { fillInItem, type ItemText } from '../../text/fill-in.ts'
import { readRawInputs, resolveInputs } from '../arguments/run-inputs.ts'
import { bracketIn, keyInName } from '../flow/step-name.ts'
import type { Task } from '../task.ts'
import { digestFields, inputFields } from './task-fingerprint.ts'

/** Throws CREW_INVALID if a task has a name that an item of another task may have. */
export function checkItemNames(tasks: readonly Task[]): void {
  for (const { name } of tasks.filter(({ forEach }) => forEach)) {
    const bracket = bracketIn(name)
    const twin = tasks.find((other) => other.name.startsWith(`${name}[`))
    const problem = bracket ?? (twin && `is also the beginning of task ${twin.name}, which could be one of its items`)
    if (problem === undefined) continue
    throw new RepriseError('CREW_INVALID', `task ${name} has forEach, and a name that ${problem}; give another name`)
  }
}

/** Defines a task with `forEach`. `waitsFor`: the tasks whose outputs its function receives. */
export function defineForEach(
  task: Task,
  { list, key }: NonNullable<Task['forEach']>,
  template: TaskDefinition,
  waitsFor: readonly TaskDefinition[],
): TaskDefinition {
  const { name, outputFile } = task
  if (outputFile !== undefined && fillInItem(outputFile, () => 'x') === outputFile) {
    const words = `task ${name} has forEach, but its outputFile is ${describe(outputFile)} for every item; use the item in it, such as {item.id}`
    throw new RepriseError('CREW_INVALID', words)
  }
  const { child } = template
  // what an item has instead of the task; conditions and order are those of the task
  const single: TaskDefinition = { ...template, when: undefined, async: false, anyContext: true, was: [] }
  return {
    ...template,
    schema: listSchema(template),
    reading: { list: template.reading ?? null },
    outputFile: undefined,
    // placeholders of the item stay, so that the other texts can be checked before the list is known
    render: (inputs, outputs) => template.render(inputs, outputs, () => ''),
    // without `inputs`, the child run also gets the item
    child: child && {
      ...child,
      known: (inputs) => (task.child?.inputs === undefined ? undefined : child.known(inputs)),
    },
    fingerprint: (inputs, outputs) => ({
      ...template.fingerprint(inputs, outputs),
      ...digestFields([['forEach', true], ...inputFields(inputs), ...contextFields(waitsFor, outputs)]),
    }),
    forEach: {
      template: single,
      list,
      key: (item) =>
        keyInName(`the key of an item of task ${name}`, key ? key(structuredClone(item)) : defaultKey(item)),
      define: (itemName, item) => defineItem(single, name, itemName, item),
    },
  }
}

function defaultKey(item: Json): Json {
  if (typeof item === 'string' || typeof item === 'number') return item
  throw new RepriseError(
    'OPTION_INVALID',
    `the item is ${describe(item)}, not a text or a number; give key: (item) => …`,
  )
}

function defineItem(template: TaskDefinition, of: string, name: string, item: Json): TaskDefinition {
  const { code, child, outputFile } = template
  const value = digest(item)
  // a copy for each call: a function that changes its item must not change the record
  const withItem = <Context extends object>(context: Context): Context & { item: unknown } => ({
    ...context,
    item: structuredClone(item),
  })
  return {
    ...template,
    name,
    of,
    started: code ? { input: item } : undefined,
    outputFile: outputFile && {
      ...outputFile,
      pathFor: (inputs) => outputFile.pathFor(inputs, textIn(`outputFile of task ${of}`, name, item)),
    },
    code: code && { ...code, run: (context) => code.run(withItem(context)) },
    child: child && {
      ...child,
      async inputs(context, own) {
        // files among the inputs of the run stay files
        const given = resolveInputs(await readRawInputs({ item }), own)
        return child.inputs(withItem(context), { ...own, ...given })
      },
    },
    render(inputs, outputs) {
      const itemText = textIn(`a text of task ${of}`, name, item)
      const used: Json[] = []
      const rendered = template.render(inputs, outputs, (path) => {
        used.push(itemMember(item, path) ?? null)
        return itemText(path)
      })
      // as for inputs: the files of what the texts use are sent. Only files of the run: an output may look like one
      const known = new Set(filesIn(inputs).map(({ hash }) => hash))
      const files = [...(rendered.files ?? []), ...filesIn(used).filter(({ hash }) => known.has(hash))]
      const byHash = new Map(files.map((file) => [file.hash, file]))
      return files.length > 0 ? { ...rendered, files: [...byHash.values()] } : rendered
    },
    fingerprint: (inputs, outputs) => ({ ...template.fingerprint(inputs, outputs), item: value }),
  }
}

/** Returns the texts for placeholders of an item. They throw INPUT_MISSING if it lacks the member. */
function textIn(where: string, name: string, item: Json): ItemText {
  return (path) => {
    const text = textOfItem(item, path)
    if (text !== undefined) return text
    const has = typeof item === 'object' && item !== null ? Object.keys(item).join(', ') : describe(item)
    const words = `${where} uses {item.${path.join('.')}}, but item ${name} has no such member; it has ${has || 'none'}`
    throw new RepriseError('INPUT_MISSING', words, { task: name })
  }
}

/** The schema of the list of outputs: each fits the schema of the task, if it has one. */
function listSchema({ schema, child }: TaskDefinition): AnswerSchema {
  const json: Json = { type: 'array', ...(schema ? { items: schema.json } : {}) }
  return {
    json,
    asked: json,
    unwrap: (answer) => answer,
    async validate(value) {
      if (!Array.isArray(value)) return { ok: false, reason: `it is ${describe(value)}, not a list` }
      const values: unknown[] = []
      for (const [index, one] of (value as readonly Json[]).entries()) {
        const parsed = schema ? await parseValue(schema, one) : { ok: true as const, value: one }
        // the output of a nested crew is not that of its last task if this one was skipped
        if (!parsed.ok && !child) return { ok: false, reason: `[${index}]: ${parsed.reason}` }
        values.push(parsed.ok ? parsed.value : one)
      }
      return { ok: true, value: values }
    },
  }
}
