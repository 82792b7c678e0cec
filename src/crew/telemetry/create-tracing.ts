// OpenTelemetry spans of runs. Attributes follow the conventions for generative AI; all others begin with `reprise.`.
// The parent of a span is the nearest open span on its path, so that concurrent tasks do not depend on a context
// manager. A tracer that throws or an exporter that is down never changes what a run does.
import type { RunTracing, TracedCall, Tracing } from '../../engine/tracing.ts'
import { messageOf, RepriseError } from '../../base/errors.ts'
import { parentPath } from '../../journal/paths.ts'
import type { CallState, RunState, ToolOutcome } from '../../journal/state/state.ts'
import type { ModelReply, ModelRequest } from '../../models/call-model.ts'
import { isModelFailure } from '../../models/model-failure.ts'
import { redact } from '../../secrets/redact.ts'
import { modelName } from '../../models/resolve/resolve-model.ts'
import { argumentsContent, replyContent, requestContent, resultContent } from './content.ts'
import type { Contexts, SpanAttributes, Tracer } from './telemetry.ts'
import { ownMember } from '../../base/options.ts'

// numeric values of the enums of @opentelemetry/api, which are part of its interface
const internalKind = 0
const clientKind = 2
const errorStatus = 2

interface TracingParts {
  readonly tracer: Tracer
  readonly contexts: Contexts
  readonly captureContent: boolean
}

export function createTracing(parts: TracingParts): Tracing {
  const safely = safeCalls()
  return {
    run(state, work) {
      const trace = traceRun(parts, state, safely)
      const attributes = {
        'gen_ai.operation.name': 'invoke_workflow',
        'gen_ai.workflow.name': state.crew,
        'reprise.run.life': state.lives,
        'reprise.run.resumed': state.lives > 1,
        'reprise.run.parent': state.parent?.run,
      }
      return trace({
        path: '',
        name: `invoke_workflow ${state.crew}`,
        attributes,
        work: () => work(runTracing(trace, parts.captureContent)),
        ended: (ended) => ({ attributes: runEnd(ended) }),
        // the state includes the recorded failure
        failed: () => ({ attributes: runEnd(state) }),
      })
    },
  }
}

function runEnd({ status, suspended }: RunState): SpanAttributes {
  return { 'reprise.run.status': status, 'reprise.run.suspended': suspended?.reason }
}

function runTracing(trace: Trace, captureContent: boolean): RunTracing {
  const toolSpan = ({ attempt, call, input, tool }: TracedCall, called: boolean, source?: CallState['source']) => ({
    path: call.path,
    name: `execute_tool ${call.request.tool}`,
    attributes: {
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.name': call.request.tool,
      'gen_ai.tool.type': 'function',
      // function tasks have no model call and no agent
      'gen_ai.tool.call.id': call.request.id || undefined,
      'gen_ai.agent.name': attempt.agent || undefined,
      'reprise.tool.effect': tool?.effect,
      'reprise.tool.called': called,
      'reprise.tool.source': source,
    },
    more: () => (captureContent ? argumentsContent(input) : {}),
    ended: (outcome: ToolOutcome | { readonly abandoned: string }) => ({
      attributes: captureContent ? resultContent(outcome) : {},
      error: toolError(outcome, called),
    }),
  })
  return {
    attempt: (attempt, task, work) =>
      trace({
        path: attempt.path,
        name: `invoke_agent ${attempt.agent}`,
        attributes: {
          'gen_ai.operation.name': 'invoke_agent',
          'gen_ai.agent.name': attempt.agent,
          ...modelAttributes(attempt.request.model),
          'reprise.task.name': task.name,
          'reprise.task.id': task.id,
        },
        work,
        ended: (ended) => {
          const judged = ended?.judged
          const by = judged?.status === 'refused' ? judged.by : undefined
          return {
            attributes: { 'reprise.attempt.outcome': judged?.status ?? 'suspended', 'reprise.attempt.refused_by': by },
            error: by === undefined || by === 'person' ? undefined : { type: 'OUTPUT_REFUSED' },
          }
        },
      }),
    model: (path, attempt, request, work) => {
      const model = modelAttributes(modelName(request.model))
      return trace({
        path,
        name: `chat ${model['gen_ai.request.model']}`,
        kind: clientKind,
        attributes: {
          'gen_ai.operation.name': 'chat',
          'gen_ai.agent.name': attempt.agent,
          ...model,
          ...requestAttributes(request),
        },
        more: () => (captureContent ? requestContent(request) : {}),
        work,
        ended: (reply) => ({
          attributes: {
            'gen_ai.response.model': reply.model ?? model['gen_ai.request.model'],
            ...replyAttributes(reply),
            ...(captureContent ? replyContent(reply) : {}),
          },
        }),
        failed: (error) =>
          isModelFailure(error)
            ? { attributes: { 'reprise.model.tries': error.tries.length }, error: { type: modelErrorType(error) } }
            : {},
      })
    },
    tool: (call, work) => trace({ ...toolSpan(call, true), work }),
    notCalled: (call, outcome, source) =>
      void trace({ ...toolSpan(call, false, source), work: () => Promise.resolve(outcome) }),
  }
}

interface SpanEnd {
  readonly attributes?: SpanAttributes
  readonly error?: { readonly type: string } | undefined
}

interface TracedSpan<T> {
  readonly path: string
  readonly name: string
  readonly kind?: number
  readonly attributes: SpanAttributes
  /** Attributes that are expensive to compute: called only if the span is recorded. */
  readonly more?: () => SpanAttributes
  readonly work: () => Promise<T>
  readonly ended: (value: T) => SpanEnd
  readonly failed?: (error: unknown) => SpanEnd
}

type Trace = <T>(traced: TracedSpan<T>) => Promise<T>

function traceRun({ tracer, contexts, captureContent }: TracingParts, { run }: RunState, safely: SafeCall): Trace {
  const outside = contexts.active()
  const open = new Map<string, unknown>()
  const parentContext = (path: string): unknown => {
    for (let up = parentPath(path); ; up = parentPath(up)) {
      const context = open.get(up)
      if (context !== undefined) return context
      if (up === '') return outside
    }
  }
  return async ({ path, name, kind = internalKind, attributes, more, work, ended, failed }) => {
    const parent = parentContext(path)
    const location = { 'reprise.run.id': run, 'gen_ai.conversation.id': run, 'reprise.path': path || undefined }
    const span = safely(() =>
      tracer.startSpan(name, { kind, attributes: { ...attributes, ...location } }, parent as never),
    )
    if (span === undefined) return work()
    const record = (read: () => SpanEnd): void =>
      safely(() => {
        if (!span.isRecording()) return
        const { attributes: recorded = {}, error } = read()
        span.setAttributes(error ? { ...recorded, 'error.type': error.type } : recorded)
        if (error) span.setStatus({ code: errorStatus, ...error })
      })
    if (more) record(() => ({ attributes: more() }))
    const context = safely(() => contexts.withSpan(parent, span)) ?? parent
    open.set(path, context)
    try {
      const value = await contexts.within(context, work)
      record(() => ended(value))
      return value
    } catch (error) {
      // the message may contain output of a server or tool
      const message = captureContent ? { message: redact(messageOf(error)) } : {}
      record(() => {
        const end = failed?.(error)
        return { ...end, error: { type: errorType(error), ...end?.error, ...message } }
      })
      throw error
    } finally {
      open.delete(path)
      safely(() => span.end())
    }
  }
}

type SafeCall = <T>(work: () => T) => T | undefined

/** Calls a tracer. Warns once if it throws, since it may throw for every span. */
function safeCalls(): SafeCall {
  let warned = false
  return (work) => {
    try {
      return work()
    } catch (error) {
      if (!warned)
        process.emitWarning(`the tracer of a crew threw, and its spans are incomplete: ${redact(messageOf(error))}`)
      warned = true
      return undefined
    }
  }
}

/** Names of providers in the conventions, where they differ from those of the AI SDK. */
const providers: { readonly [provider: string]: string } = {
  'amazon-bedrock': 'aws.bedrock',
  azure: 'azure.ai.openai',
  google: 'gcp.gemini',
  'google.vertex': 'gcp.vertex_ai',
  mistral: 'mistral_ai',
  xai: 'x_ai',
}

/** Returns the attributes of a model, by its name: `provider/model`. */
function modelAttributes(name: string): { readonly [name in `gen_ai.${'provider.name' | 'request.model'}`]: string } {
  const slash = name.indexOf('/')
  const provider = name.slice(0, Math.max(0, slash))
  return {
    'gen_ai.provider.name': ownMember(providers, provider) ?? (provider || '_OTHER'),
    'gen_ai.request.model': name.slice(slash + 1),
  }
}

const settings: { readonly [setting: string]: string } = {
  temperature: 'temperature',
  maxOutputTokens: 'max_tokens',
  topP: 'top_p',
  topK: 'top_k',
  presencePenalty: 'presence_penalty',
  frequencyPenalty: 'frequency_penalty',
  seed: 'seed',
}

function requestAttributes({ settings: given = {}, output }: ModelRequest): SpanAttributes {
  const known = Object.entries(settings).flatMap(([setting, name]) => {
    const value = given[setting]
    return typeof value === 'number' ? [[`gen_ai.request.${name}`, value] as const] : []
  })
  return { ...Object.fromEntries(known), 'gen_ai.output.type': output === undefined ? undefined : 'json' }
}

function replyAttributes({ usage, finish, tries }: ModelReply): SpanAttributes {
  return {
    'gen_ai.response.finish_reasons': [finish],
    'gen_ai.usage.input_tokens': usage.input,
    'gen_ai.usage.output_tokens': usage.output,
    'gen_ai.usage.cache_read.input_tokens': usage.cacheRead,
    'gen_ai.usage.cache_creation.input_tokens': usage.cacheWrite,
    'gen_ai.usage.reasoning.output_tokens': usage.reasoning,
    'reprise.model.tries': tries.length + 1,
  }
}

function modelErrorType({ code, cause }: RepriseError): string {
  const { name, statusCode } = (cause ?? {}) as { readonly name?: unknown; readonly statusCode?: unknown }
  if (typeof statusCode === 'number') return String(statusCode)
  return name === 'ModelTimeout' ? 'timeout' : code
}

function toolError(outcome: ToolOutcome | { readonly abandoned: string }, called: boolean): SpanEnd['error'] {
  if ('result' in outcome || 'denied' in outcome) return undefined
  if ('abandoned' in outcome) return { type: 'abandoned' }
  if ('unreadable' in outcome) return { type: 'unreadable_result' }
  return { type: called ? 'tool_error' : 'not_called' }
}

function errorType(error: unknown): string {
  if (RepriseError.isInstance(error)) return error.code
  if (error instanceof Error) return error.name
  // the abort reason of a stopped run is a symbol
  return typeof error === 'symbol' ? 'stopped' : '_OTHER'
}
