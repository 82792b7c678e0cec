// What an editor shows for a crew: short, and without the insides of a schema library; and the compiler is not
// overtaxed by a crew of many tasks with long texts.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compilerFor } from './compile.ts'

const { compile, check } = compilerFor('hints')

test('a crew shows as its tasks, by name, output and inputs', () => {
  const { declarations } = compile(
    'small',
    `import { Agent, Crew, Task } from 'reprise'
     import { z } from 'zod'
     const agent = new Agent({ role: 'A', goal: 'Serve {customer}' })
     const facts = new Task({ name: 'facts', description: '{notes}', agent, output: z.object({ policy: z.string() }) })
     const note = new Task({ name: 'note', description: 'Note', agent, context: [facts] })
     export const crew = new Crew({ tasks: [facts, note] })`,
  )
  const crew = /export declare const crew: (.*?);\n(?:export|$)/s
    .exec(`${declarations}export`)?.[1]
    ?.replaceAll(/\s+/g, ' ')
  assert.equal(
    crew,
    'Crew<readonly [Task<"facts", { policy: string; }, "customer" | "notes", { policy: string; }>, Task<"note", string, "customer", string>], never>',
  )
})

test('a crew with a schema shows what that takes and gives, and nothing of the schema itself', () => {
  const { declarations } = compile(
    'schema',
    `import { Crew, Task, type CodeContext } from 'reprise'
     import { z } from 'zod'
     const claim = z.object({ id: z.string(), tone: z.string().default('formal') })
     const count = new Task({ name: 'count', run: ({ inputs }: CodeContext<object, z.infer<typeof claim>>) => inputs.id.length })
     export const crew = new Crew({ inputs: claim, tasks: [count] })`,
  )
  const crew = /export declare const crew: (.*?);\n(?:export|$)/s
    .exec(`${declarations}export`)?.[1]
    ?.replaceAll(/\s+/g, ' ')
  assert.equal(
    crew,
    'Crew<readonly [Task<"count", number, { id: string; tone: string; }, number>], { id: string; tone?: string | undefined; }>',
  )
})

test("the kickoff of an agent shows as a run of one task, without the schema's own types", () => {
  const { declarations } = compile(
    'agent',
    `import { Agent } from 'reprise'
     import { z } from 'zod'
     const agent = new Agent({ role: 'A', goal: 'Serve {customer}' })
     export const call = agent.kickoff('Why?', { inputs: { customer: 'Ada' }, output: z.object({ policy: z.string() }) })`,
  )
  const call = /export declare const call: (.*?);\n(?:export|$)/s.exec(`${declarations}export`)?.[1]
  assert.equal(
    call?.replaceAll(/\s+/g, ' ').replaceAll('import("reprise").', ''),
    'RunPromise<readonly [Task<"answer", { policy: string; }, "customer" | "prompt", { policy: string; }>]>',
  )
})

test('the compiler says the same with the options that most projects have', () => {
  for (const options of [{ exactOptionalPropertyTypes: false }, { noUncheckedIndexedAccess: false }]) {
    const said = check(['test/types/crew.types.ts'], options)
    // our own sources are written for stricter ones; users get declarations
    assert.deepEqual(
      said.split('\n').filter((line) => line.startsWith('test/types/')),
      [],
    )
  }
})

test('fifty tasks with long texts and thirty placeholders each compile', () => {
  const filler = 'Some words that say what is to be done, with {"json": {"in": "it"}} and {{literal}} braces. '.repeat(
    10,
  )
  const tasks = Array.from({ length: 50 }, (_, index) => {
    const holes = Array.from({ length: 30 }, (_unused, hole) => `{input_${index}_${hole}}`).join(', ')
    return `new Task({ name: 'task${index}', description: \`${filler}${holes}\`, agent })`
  })
  const { said } = compile(
    'large',
    `import { Agent, Crew, Task } from 'reprise'
     const agent = new Agent({ role: 'A', goal: 'g' })
     const crew = new Crew({ tasks: [${tasks.join(',\n')}] })
     declare const inputs: { [K in \`input_\${number}_\${number}\`]: string }
     export const result = crew.kickoff({ inputs: { ...inputs, input_0_0: 'x' } as never })
     // @ts-expect-error -- 1,499 inputs are missing
     export const wrong = crew.kickoff({ inputs: { input_0_0: 'x' } })`,
  )
  assert.equal(said, '')
})
