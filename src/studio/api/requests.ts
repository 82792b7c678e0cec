// The fields of every query and body of the API. Types, checks and the OpenAPI description are derived from them.
import type { FieldValues } from './schema.ts'

export const crewFilter = {
  crew: { type: 'string', description: 'Only this crew.' },
} as const

export const runFilter = {
  crew: { type: 'string', description: 'Only runs of this crew.' },
  status: { type: 'string', description: 'Only runs with these statuses, separated by commas.' },
  since: { type: 'string', description: 'Only runs created at this time or later.' },
  until: { type: 'string', description: 'Only runs created before this time.' },
  search: {
    type: 'string',
    description: 'Only runs whose inputs contain this text (case-insensitive), or whose id starts with it.',
  },
  parent: { type: 'string', description: 'Only runs forked from this run.' },
  backtests: { type: 'string', enum: ['true'], description: 'List the trials of backtests instead of other runs.' },
  children: { type: 'string', enum: ['true'], description: 'Include child runs.' },
  limit: { type: 'integer', minimum: 1, maximum: 200, description: 'Page size. Default: 50.' },
  cursor: { type: 'string', description: '`next` of the previous page.' },
} as const
export type RunsQuery = FieldValues<typeof runFilter>

export const entryRange = {
  after: { type: 'integer', minimum: 0, description: 'Only entries after this sequence number.' },
  limit: { type: 'integer', minimum: 1, maximum: 1000, description: 'Page size. Default: 1,000.' },
} as const
export type EntriesQuery = FieldValues<typeof entryRange>

export const groupStart = {
  groups: { type: 'integer', minimum: 0, description: 'Flows: skip so many groups of steps.' },
} as const

export const taskRange = {
  name: { type: 'string', description: 'Flows: only steps of this name, whatever their keys.' },
  from: { type: 'integer', minimum: 0, description: 'Skip so many tasks.' },
  limit: { type: 'integer', minimum: 1, maximum: 200, description: 'Page size. Default: 20.' },
} as const
export type TasksQuery = FieldValues<typeof taskRange>

export const turnRange = {
  before: { type: 'integer', minimum: 1, description: 'Only turns before this one. Default: up to the newest.' },
  limit: { type: 'integer', minimum: 1, maximum: 100, description: 'How many turns. Default: 20.' },
} as const

export const eventFields = {
  name: { type: 'string', description: 'Name of the event.', isRequired: true },
  value: { description: 'Any JSON. Default: null. For the event `message` of a conversation: a text.' },
  id: { type: 'string', description: 'Of several events with this id, the run receives the first.' },
  by: { type: 'string', description: 'Name of the person who sends the event.' },
} as const
export type EventBody = FieldValues<typeof eventFields>

export const streamStart = {
  after: { type: 'integer', minimum: 0, description: 'Only entries after this sequence number.' },
} as const

export const diffSides = {
  a: { type: 'string', description: 'Id of the first run.', isRequired: true },
  b: { type: 'string', description: 'Id of the second run.', isRequired: true },
} as const

export const sessionFields = {
  token: { type: 'string', description: 'A token that the studio was started with.', isRequired: true },
} as const

export const answerFields = {
  decision: { type: 'string', description: 'One of the decisions that the question accepts.', isRequired: true },
  reason: { type: 'string', description: 'Why, for `deny` and `fail`.' },
  feedback: { type: 'string', description: 'What to improve, for `revise`.' },
  output: { description: 'The output to use instead, for `replace`.' },
  input: { description: 'The arguments to call the tool with instead, for `approve`.' },
  result: { description: 'The result of the call, for `use` and `happened`.' },
  to: { description: 'The new limit, for `raise`.' },
  value: { description: 'The value that a flow asks for, for `answer`.' },
  note: { type: 'string', description: 'Stored with the answer.' },
  by: { type: 'string', description: 'Name of the person who answers.' },
} as const
export type AnswerBody = FieldValues<typeof answerFields>

export const kickoffFields = {
  inputs: { type: 'object', additionalProperties: {}, description: 'Inputs by name.' },
  through: { type: 'string', description: 'Stop after this task.' },
  reuse: {
    anyOf: [
      { type: 'boolean' },
      { type: 'object', properties: { maxAgeSeconds: { type: 'number' } }, required: ['maxAgeSeconds'] },
    ],
    description: 'Reuse outputs that any run of the crew produced from the same inputs.',
  },
} as const
export type KickoffBody = FieldValues<typeof kickoffFields>

export const startFields = {
  id: { type: 'string', description: 'Your own run id. If the run exists, it is continued, or returned if it ended.' },
  how: {
    type: 'string',
    enum: ['here', 'queue'],
    description: '`here`: the studio executes the run. `queue`: a worker executes it; `through` is not allowed then.',
    isRequired: true,
  },
  priority: { type: 'string', enum: ['low', 'normal', 'high'], description: 'For queued runs.' },
  delay: { type: 'integer', minimum: 0, description: 'For queued runs: seconds before a worker may start it.' },
} as const
export type StartBody = FieldValues<typeof kickoffFields & typeof startFields>

export const scheduleFields = {
  name: {
    type: 'string',
    description: 'Name of the schedule, with which its run ids begin. Default: that of the crew.',
  },
  cron: { type: 'string', description: 'Such as `0 2 * * *` or `@daily`.', isRequired: true },
  timezone: { type: 'string', description: 'Such as Europe/Berlin. Default: UTC.' },
  inputs: { type: 'object', additionalProperties: {}, description: 'Inputs by name, the same for each run.' },
  priority: { type: 'string', enum: ['low', 'normal', 'high'] },
  by: { type: 'string', description: 'Name of the person who does this.' },
} as const
export type ScheduleBody = FieldValues<typeof scheduleFields>

export const decisionFields = {
  renamed: {
    type: 'object',
    additionalProperties: { type: 'string' },
    description: 'Renamed tasks: new names by old names, for recorded work of tasks that the crew no longer has.',
  },
  removed: {
    type: 'array',
    items: { type: 'string' },
    description: 'Removed tasks: their recorded work is dropped.',
  },
} as const

export const resumeFields = {
  how: {
    type: 'string',
    enum: ['here', 'queue'],
    description:
      '`here`: the studio executes the run. `queue`: a worker does. Default: `here` if the code of the crew is loaded.',
  },
  changed: {
    type: 'string',
    enum: ['restart', 'continue', 'refuse'],
    description: 'What to do with a started task whose code has changed. Default: `continue`.',
  },
  through: { type: 'string', description: 'Stop after this task.' },
  retry: {
    anyOf: [
      { type: 'string', enum: ['failed'] },
      { type: 'array', items: { type: 'string' } },
    ],
    description: 'Flows: further failed steps to execute again, or all of them.',
  },
  budget: {
    type: 'object',
    properties: { tokens: { type: 'number' }, cost: { type: 'number' }, seconds: { type: 'number' } },
    description: 'Replaces a budget that is used up.',
  },
  by: { type: 'string', description: 'Name of the person who resumes the run.' },
} as const
export type ResumeBody = FieldValues<typeof resumeFields & typeof decisionFields>

export const newRunFields = {
  id: { type: 'string', description: 'Your own id for the new run.' },
  inputs: { type: 'object', additionalProperties: {}, description: "Merged into the run's own inputs." },
  effects: {
    type: 'string',
    enum: ['reuse', 'again', 'ask'],
    description: 'What to do with `once` calls that the run already made. Default: `reuse`.',
  },
  through: { type: 'string', description: 'Stop after this task.' },
} as const
export type NewRunBody = FieldValues<typeof newRunFields & typeof decisionFields>

export const scopeFields = {
  only: { type: 'string', enum: ['descendants'], description: 'Execute only the tasks that depend on the first one.' },
  stale: {
    type: 'string',
    enum: ['keep', 'rerun', 'refuse'],
    description: 'What to do with stale outputs that would be inherited.',
  },
} as const

export const replayFields = {
  task: { type: 'string', description: 'The first task to execute.', isRequired: true },
} as const
export type ReplayBody = NewRunBody & FieldValues<typeof scopeFields & typeof replayFields>

export const forkFields = {
  from: { type: 'string', description: 'The first task to execute.' },
  retry: {
    type: 'string',
    enum: ['failed'],
    description: 'Execute failed tasks, tasks skipped because of them, and the tasks that depend on either.',
  },
  outputs: {
    type: 'object',
    additionalProperties: {},
    description:
      'New outputs by task name, as they are before the transforms of their schemas. Tasks that depend on them are executed.',
  },
  by: { type: 'string', description: 'Name of the person who provides the outputs.' },
} as const
export type ForkBody = NewRunBody & FieldValues<typeof scopeFields & typeof forkFields>

/** The request to plan; `of` names its kind. */
export type PlanBody =
  | ({ readonly of: 'resume' } & ResumeBody)
  | ({ readonly of: 'replay' } & ReplayBody)
  | ({ readonly of: 'fork' } & ForkBody)
  | ({ readonly of: 'refresh' } & NewRunBody)

export const cancelFields = {
  by: { type: 'string', description: 'Name of the person who does this.' },
} as const
export type CancelBody = FieldValues<typeof cancelFields>

export const backtestFields = {
  task: { type: 'string', description: 'The task to execute with the current code.', isRequired: true },
  runs: {
    anyOf: [
      { type: 'integer', minimum: 1, maximum: 200 },
      { type: 'array', items: { type: 'string' }, maxItems: 200 },
    ],
    description: 'Ids of runs, or how many of the latest suitable runs to use. Default: 20.',
  },
  id: { type: 'string', description: 'Continue the backtest with this id. Finished trials are not repeated.' },
} as const
export type BacktestBody = FieldValues<typeof backtestFields>
