// What the compiler says to a mistake: of the thing that is wrong, by its name, and short.
import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { compilerFor } from './compile.ts'

const { compile } = compilerFor('messages')

const declared = `
  import { Agent, Crew, Flow, Task, tool, type FlowRun } from 'reprise'
  import { z } from 'zod'
  const agent = new Agent({ role: 'A', goal: 'Serve {customer}' })
  const output = z.object({ policy: z.string() })
  const extract = new Task({ name: 'extract', description: 'Facts of {notes}', agent, output })
  const risk = new Task({ name: 'risk', description: 'Risk', agent, context: [extract] })
  export const crew = new Crew({ tasks: [extract, risk] })
  const pay = tool({ name: 'pay', description: 'Pays', input: z.object({ amount: z.number() }), run: () => 1 })
  declare const flow: FlowRun
`

/** By claim: the code, and the parts of its error. */
const mistakes: { readonly [claim: string]: readonly [code: string, ...said: string[]] } = {
  'an option of a task for an agent': [
    `new Task({ name: 'x', description: 'A long text about {notes}', agent, expectedOuput: 'y' })`,
    `Object literal may only specify known properties, but 'expectedOuput' does not exist in type 'ItemFunctions<Tasks, Inputs, never> & TaskOptions<never, Tasks, never>'. Did you mean to write 'expectedOutput'?`,
  ],
  'an option of a task without an agent': [
    `new Task({ description: 'x', contxt: [extract] })`,
    `Object literal may only specify known properties, but 'contxt' does not exist in type 'ItemFunctions<Tasks, Inputs, never> & TaskOptions<never, Tasks, never>'. Did you mean to write 'context'?`,
  ],
  'an option that a task for an agent needs': [
    `new Task({ name: 'x', agent })`,
    `Argument of type '{ name: string; agent: Agent<"customer">; }' is not assignable to parameter of type 'ItemFunctions<Tasks, Inputs, never> & TaskOptions<never, Tasks, never>'.`,
    `Property 'description' is missing in type '{ name: string; agent: Agent<"customer">; }' but required in type 'TaskOptions<never, Tasks, never>'.`,
  ],
  'the value of an option of a task for an agent': [
    `new Task({ description: 'x', retries: '3' })`,
    `Type 'string' is not assignable to type 'number'.`,
  ],
  'an option of a function': [
    `new Task({ name: 'x', run: ({ inputs }) => inputs, efect: 'read' })`,
    `Object literal may only specify known properties, but 'efect' does not exist in type 'ItemFunctions<Tasks, Inputs, never> & FunctionTask<Inputs, never, Tasks, Inputs, never>'. Did you mean to write 'effect'?`,
  ],
  'an option that only tasks for agents have': [
    `new Task({ name: 'x', run: () => 1, agent })`,
    `Object literal may only specify known properties, and 'agent' does not exist in type 'ItemFunctions<Tasks, Inputs, never> & FunctionTask<number, never, Tasks, Inputs, never>'.`,
  ],
  'an option of a task that is a crew': [
    `new Task({ name: 'x', crew, input: {} })`,
    `Object literal may only specify known properties, but 'input' does not exist in type 'ItemFunctions<Tasks, Inputs, never> & NestedTask<string, never, Tasks, never>'. Did you mean to write 'inputs'?`,
  ],
  'an output in a function': [
    `new Task({ name: 'x', context: [extract], run: ({ outputs }) => outputs.extrct })`,
    `Property 'extrct' does not exist on type '{ readonly extract: { policy: string; }; }'. Did you mean 'extract'?`,
  ],
  'the task of a replay': [
    `crew.replay('riks')`,
    `Argument of type '"riks"' is not assignable to parameter of type 'TaskReference<"extract" | "risk">'.`,
  ],
  'the task of a result': [
    `(await crew.run('x').result()).task('extrct')`,
    `Argument of type '"extrct"' is not assignable to parameter of type 'TaskReference<"extract" | "risk">'.`,
  ],
  'the task that a run stops after': [
    `crew.kickoff({ inputs: { notes: 'x', customer: 'y' }, through: 'extrct' })`,
    `Type '"extrct"' is not assignable to type 'TaskReference<"extract" | "risk">'. Did you mean '"extract"'?`,
  ],
  'the task that a fork starts from': [
    `crew.fork({ from: 'riks' })`,
    `Type '"riks"' is not assignable to type 'TaskReference<"extract" | "risk"> | undefined'.`,
  ],
  'the task that an output is given for': [
    `crew.fork({ outputs: { extrct: { policy: 'P-1' } } })`,
    `Object literal may only specify known properties, but 'extrct' does not exist in type '{ readonly extract?: { policy: string; }; readonly risk?: string; }'. Did you mean to write 'extract'?`,
  ],
  'a call without any of its inputs': [
    `crew.kickoff()`,
    `Argument of type '[]' is not assignable to parameter of type 'MissingInputs<"customer" | "notes">'.`,
    `Type '[]' is not assignable to type '{ readonly "inputs.customer": InputValue; readonly "inputs.notes": InputValue; }'.`,
  ],
  'a call with options but no inputs': [
    `crew.kickoff({ id: 'x' })`,
    `Argument of type '{ id: string; }' is not assignable to parameter of type 'KickoffOptions<TaskReference<"extract" | "risk">, "customer" | "notes">'.`,
    `Property 'inputs' is missing in type '{ id: string; }' but required in type '{ readonly inputs: { readonly customer: InputValue; readonly notes: InputValue; }; }'.`,
  ],
  'a call without one of its inputs': [
    `crew.kickoff({ inputs: { notes: 'x' } })`,
    `Property 'customer' is missing in type '{ notes: string; }' but required in type '{ readonly customer: InputValue; readonly notes: InputValue; }'.`,
  ],
  'a prompt without the inputs of the agent': [
    `agent.kickoff('Why?')`,
    `Argument of type '[]' is not assignable to parameter of type 'MissingInputs<"customer">'.`,
    `Property '"inputs.customer"' is missing in type '[]' but required in type '{ readonly "inputs.customer": InputValue; }'.`,
  ],
  'an option of a call': [
    `crew.kickoff({ inputs: { notes: 'x', customer: 'y' }, trough: 'extract' })`,
    `Object literal may only specify known properties, but 'trough' does not exist in type 'KickoffOptions<TaskReference<"extract" | "risk">, "customer" | "notes">'. Did you mean to write 'through'?`,
  ],
  'an input of a crew that a flow runs': [
    `flow.run(crew, { notes: 'x', custmer: 'y' })`,
    `Object literal may only specify known properties, but 'custmer' does not exist in type '{ readonly customer: InputValue; readonly notes: InputValue; }'. Did you mean to write 'customer'?`,
  ],
  'the input of a tool that a flow runs': [
    `flow.run(pay, { amount: 'x' })`,
    `Type 'string' is not assignable to type 'number'.`,
  ],
  'an option of an agent that a flow runs': [
    `flow.run(agent, 'Why?', { inputs: { customer: 'x' }, ouput: output })`,
    `Object literal may only specify known properties, but 'ouput' does not exist in type 'AgentStepOptions<never> & { readonly inputs: { readonly customer: InputValue; }; }'. Did you mean to write 'output'?`,
  ],
  'an option of a flow': [
    `new Flow({ name: 'x', tasks: [], run: () => 1 })`,
    `Object literal may only specify known properties, and 'tasks' does not exist in type 'FlowOptions<never, { readonly [name: string]: never; }, { readonly [name: string]: never; }, number, never>'.`,
  ],
}

let said: readonly string[] = []
before(() => {
  const codes = Object.values(mistakes).map(([code]) => `;{ const wrong = ${code}; void wrong }`)
  said = compile('mistakes', `${declared.trim().replaceAll('\n', ';')}\n${codes.join('\n')}`).said.split('\n')
})

for (const [index, [claim, [, ...lines]]] of Object.entries(mistakes).entries()) {
  test(`a compiler error names ${claim}, and nothing else`, () => {
    // a message begins at its place; what belongs to it is indented below
    const start = said.findIndex((line) => line.includes(`mistakes.ts(${index + 2},`))
    const own = said.slice(
      start,
      said.findIndex((line, at) => at > start && !line.startsWith(' ')),
    )
    assert.deepEqual(
      own.map((line) => line.trim().replace(/^.*?error TS\d+: /, '')),
      lines,
    )
  })
}
