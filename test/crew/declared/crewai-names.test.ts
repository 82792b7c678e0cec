// Names that people from CrewAI write out of habit: each is answered with its name here, or with the fact that it is
// missing.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Agent, Crew, Flow, Task, tool } from 'reprise'
import { crewFromYaml } from 'reprise/yaml'
import { z } from 'zod'
import { optionRows } from '../../../scripts/option-tables.ts'
import { agentTable } from '../../../src/crew/options/agent-options.ts'
import { crewTable } from '../../../src/crew/options/crew-options.ts'
import { taskTables } from '../../../src/crew/options/task-table.ts'
import { toolTable } from '../../../src/tools/tool-options.ts'
import { crewOf, refusal, small } from '../yaml/yaml-files.ts'

const agent = new Agent({ role: 'Clerk', goal: 'g' })
const task = new Task({ name: 'note', description: 'd', agent })
const make: { readonly [object: string]: (options: object) => unknown } = {
  agent: (options) => new Agent({ role: 'Clerk', goal: 'g', ...options }),
  task: (options) => new Task({ name: 'note', description: 'd', ...options }),
  crew: (options) => new Crew({ name: 'claims', tasks: [task], ...options }),
  flow: (options) => new Flow({ name: 'book', run: () => 1, ...options }),
  tool: (options) => tool({ name: 'look', description: 'd', input: z.object({}), run: () => 1, ...options }),
}
const called: { readonly [object: string]: string } = {
  agent: 'agent "Clerk"',
  task: 'task "note"',
  crew: 'crew "claims"',
  flow: 'flow "book"',
  tool: 'tool "look"',
}

const here = {
  agent: {
    llm: 'model',
    max_iter: 'maxIterations',
    max_rpm: 'maxRpm',
    max_retry_limit: 'maxRetries',
    max_execution_time: 'maxSeconds',
    allow_delegation: 'allowDelegation',
    guardrail: 'guardrails',
  },
  task: {
    expected_output: 'expectedOutput',
    async_execution: 'async',
    output_pydantic: 'output',
    output_json: 'output',
    output_file: 'outputFile',
    create_directory: 'createDirectory',
    human_input: 'humanInput',
    guardrail: 'guardrails',
    guardrail_max_retries: 'retries',
    condition: 'when',
  },
  crew: {
    manager_llm: 'manager',
    manager_agent: 'manager',
    step_callback: 'onStep',
    task_callback: 'onTask',
    before_kickoff: 'beforeKickoff',
    max_rpm: 'maxRpm',
  },
  tool: { args_schema: 'input', func: 'run', max_seconds: 'maxSeconds' },
}

describe('a CrewAI name is answered with its Reprise name:', () => {
  for (const [object, names] of Object.entries(here)) {
    for (const [theirs, ours] of Object.entries(names)) {
      test(`${theirs} of ${object} is ${ours}`, () => {
        const message = `${called[object]} has no option "${theirs}": it's "${ours}" here`
        assert.throws(() => make[object]?.({ [theirs]: 1 }), { code: 'OPTION_UNKNOWN', message })
      })
    }
  }

  test('every name of the table, in its own spelling and in camel case', () => {
    for (const [object, rows] of Object.entries(optionRows)) {
      for (const [ours, { crewai = [], of }] of Object.entries(rows)) {
        if (of && !('agent' in of)) continue
        for (const theirs of crewai.flatMap((name) => [name, camelCase(name)])) {
          if (theirs in rows) continue
          const message = `${called[object]} has no option "${theirs}": it's "${ours}" here`
          assert.throws(() => make[object]?.({ [theirs]: undefined }), { code: 'OPTION_UNKNOWN', message })
        }
      }
    }
  })

  test('crewFromYaml answers as the crew does', async () => {
    const { code, message } = await refusal(small, { manager_llm: 'openai/gpt-5' } as object)
    assert.deepEqual(
      [code, message],
      ['OPTION_UNKNOWN', `crewFromYaml has no option "manager_llm": it's "manager" here`],
    )
    assert.throws(() => crewFromYaml('config', { memory: true } as object), {
      message: /"memory": this version of Reprise/,
    })
  })

  test('so do overrides in the code, with the place of the agent', async () => {
    const { code, message } = await refusal(small, { agentOptions: { a: { llm: 'openai/gpt-5' } as object } })
    assert.equal(code, 'OPTION_UNKNOWN')
    assert.match(message, /^config\/agents\.yaml:1:1: agent "R" has no option "llm": it's "model" here$/)
  })
})

describe('a missing feature is named plainly:', () => {
  test('memory, planning, cache and the like', () => {
    for (const [object, name, says] of [
      ['agent', 'memory', 'this version of Reprise does not have it; leave it out'],
      ['agent', 'respect_context_window', 'it is always on here; leave it out'],
      [
        'agent',
        'functionCallingLlm',
        'this version of Reprise does not have it; leave it out, and use one model, which also calls the tools',
      ],
      ['agent', 'step_callback', 'this version of Reprise does not have it; leave it out, and use onStep of the crew'],
      ['crew', 'planning', 'this version of Reprise does not have it; leave it out'],
      [
        'crew',
        'cache',
        'this version of Reprise does not have it; leave it out, and give cache: true to the tools that only read',
      ],
    ] as const) {
      const message = `${called[object]} has no option "${name}": ${says}`
      assert.throws(() => make[object]?.({ [name]: true }), { code: 'OPTION_UNKNOWN', message })
    }
  })

  test('no name is both an option and a missing feature', () => {
    for (const { options, lacks } of [agentTable, taskTables.agent, crewTable, toolTable]) {
      const taken = Object.entries<{ readonly crewai?: readonly string[] }>(options).flatMap(([name, row]) => [
        name,
        ...(row.crewai ?? []),
      ])
      assert.deepEqual(
        Object.keys(lacks).filter((name) => taken.includes(name)),
        [],
      )
    }
  })
})

describe('a misspelt option', () => {
  test('is answered with that option, even if it also resembles a CrewAI name', () => {
    assert.throws(() => make['agent']?.({ maxIteration: 3 }), {
      message: /; did you mean maxIterations\? \(it has role, /,
    })
    assert.throws(() => make['agent']?.({ max_itr: 3 }), { message: /; did you mean maxIterations\?/ })
  })

  test('named like a property of every object is unknown', () => {
    for (const name of ['constructor', 'toString', 'hasOwnProperty']) {
      assert.throws(() => make['agent']?.({ [name]: 1 }), {
        code: 'OPTION_UNKNOWN',
        message: new RegExp(`has no option "${name}" \\(it has role`),
      })
    }
  })
})

test('crew files accept the names of CrewAI, of Reprise, and of Reprise in snake case', async () => {
  for (const field of ['max_iter', 'maxIterations', 'max_iterations']) {
    const { agents } = await crewOf({ agents: `${small.agents}  ${field}: 7\n` })
    assert.equal(agents[0]?.maxIterations, 7)
  }
})

function camelCase(name: string): string {
  return name.replaceAll(/(?<=\w)_(\w)/g, (_, letter: string) => letter.toUpperCase())
}
