// The options of tasks, in one table for the three kinds: each row says which of them have it.
import { anyText, check, flag, func, oneOrMore, seconds, text, whole, type Check } from '../../base/checks.ts'
import { isRecord, type OptionNames, missingFeatures } from '../../base/options.ts'
import { effectCheck } from '../../tools/tool-options.ts'
import { outputFileCheck } from '../define/output-path.ts'
import { guardrailsCheck } from '../guardrails.ts'
import { agentCheck, nameCheck, none, schemaCheck, tasksCheck, toolsCheck } from './crew-checks.ts'
import type { TaskRows } from './task-kinds.ts'

const all = { agent: 'may', run: 'may', crew: 'may' } as const
const forAgent = { agent: 'may' } as const
const forRun = { run: 'may' } as const
const written = { agent: 'may', run: 'may' } as const

const crewCheck: Check<never> = check(
  'a crew made with new Crew({ … })',
  (value) => typeof value === 'object' && value !== null && '~definition' in value,
)
const inputsCheck: Check<never> = check(
  'an object, or a function of `{ inputs, outputs }`',
  (value) => typeof value === 'function' || isRecord(value),
)

export const taskRows: TaskRows = {
  name: {
    takes: nameCheck,
    of: { agent: 'may', run: 'must', crew: 'must' },
    leftOut: 'derived from the texts, and changes with them',
    yaml: 'key',
    does: 'its identity',
  },
  was: {
    takes: oneOrMore(nameCheck),
    of: all,
    default: none,
    yaml: 'sentences',
    does: 'its earlier names: unfinished runs continue what they recorded under one of them',
  },
  description: { takes: text, of: { agent: 'must', run: 'may', crew: 'may' }, yaml: 'text', does: 'what to do' },
  expectedOutput: {
    takes: anyText,
    of: forAgent,
    crewai: ['expected_output'],
    yaml: 'text',
    does: 'what the result looks like',
  },
  agent: {
    takes: agentCheck,
    of: forAgent,
    leftOut: 'that of the crew, where it has one',
    yaml: 'agent',
    does: 'who does it',
  },
  context: {
    takes: tasksCheck,
    of: all,
    leftOut: 'all earlier tasks',
    yaml: 'context',
    does: 'the earlier tasks whose outputs it is given; an empty list: none',
  },
  output: {
    takes: schemaCheck,
    of: all,
    leftOut: 'a text; of a crew, what its last task says',
    crewai: ['output_pydantic', 'output_json', 'response_model', 'converter_cls'],
    yaml: { code: 'output: z.object({ … })' },
    does: 'the schema that its output must fit',
  },
  tools: {
    takes: toolsCheck,
    of: forAgent,
    leftOut: "the agent's",
    yaml: 'tools',
    does: "in place of the agent's tools",
  },
  guardrails: {
    takes: guardrailsCheck,
    of: forAgent,
    default: none,
    crewai: ['guardrail'],
    yaml: 'sentences',
    does: 'what an answer must pass after its schema: functions, or sentences that a model judges by',
  },
  retries: {
    takes: whole(0),
    of: forAgent,
    default: 3,
    crewai: ['guardrail_max_retries', 'max_retries'],
    yaml: 'number',
    does: 'how often an answer that was refused goes back to the model',
  },
  humanInput: {
    takes: flag,
    of: written,
    default: false,
    crewai: ['human_input'],
    yaml: 'flag',
    does: 'a person judges the result',
  },
  markdown: { takes: flag, of: forAgent, default: false, yaml: 'flag', does: 'the model is asked for Markdown' },
  run: {
    takes: func,
    of: { run: 'must' },
    does: 'the function, which is given `{ inputs, outputs, feedback, idempotencyKey, signal, runId, task, readFile }`',
  },
  effect: { takes: effectCheck, of: forRun, default: 'once', does: 'what doing it again means, as for tools' },
  settle: { takes: func, of: forRun, does: 'finds out whether a `once` function that was cut off did its work' },
  maxSeconds: { takes: seconds, of: forRun, leftOut: 'no limit', does: 'past this the function is given up' },
  crew: { takes: crewCheck, of: { crew: 'must' }, does: 'the crew that does it, in a run of its own' },
  inputs: { takes: inputsCheck, of: { crew: 'may' }, leftOut: 'those of this run', does: 'what that crew is given' },
  async: {
    takes: flag,
    of: all,
    default: false,
    crewai: ['async_execution'],
    yaml: 'flag',
    does: 'in a sequential crew, what follows starts beside it',
  },
  when: {
    takes: func,
    of: all,
    crewai: ['condition'],
    yaml: { code: 'when: ({ outputs }) => …' },
    does: 'says from `{ inputs, outputs, previous, readFile }` whether the task is executed',
  },
  outputFile: {
    takes: outputFileCheck,
    of: written,
    crewai: ['output_file'],
    yaml: 'text',
    does: 'where its output is written: `reports/{topic}.md`',
  },
  createDirectory: {
    takes: flag,
    of: written,
    default: true,
    crewai: ['create_directory'],
    yaml: 'flag',
    does: 'whether missing folders of `outputFile` are made',
  },
  callback: {
    takes: func,
    of: all,
    crewai: ['callbacks'],
    yaml: { code: 'callback: (output) => …' },
    does: 'called with its output when it was executed',
  },
  version: { takes: anyText, of: all, yaml: 'text', does: 'change it with code that Reprise cannot see' },
}

export const taskLacks: OptionNames['lacks'] = {
  ...missingFeatures('prompt_context', 'allow_crewai_trigger_context', 'security_config'),
  input_files: { instead: 'give files as inputs' },
  type: { without: 'what a task is, its options say: for a conditional one, give when in the code' },
  config: { instead: 'use loadTasks of reprise/yaml' },
}
