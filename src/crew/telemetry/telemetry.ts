// The `telemetry` option of a crew. @opentelemetry/api is loaded when such a crew is first used.
import { whenMissing } from '../../base/optional-package.ts'
import type { Tracing } from '../../engine/tracing.ts'
import { check, flag, optional, wrong, type Check, checkKeys } from '../../base/options.ts'

export interface TelemetryOptions {
  /** The tracer that starts the spans. Default: the tracer named `reprise` of the global provider. */
  readonly tracer?: Tracer
  /** Whether spans record inputs and outputs of models and tools, with known credentials removed. Default: false. */
  readonly captureContent?: boolean
}

/** Throws OPTION_INVALID or OPTION_UNKNOWN. */
export const telemetryCheck: Check<true | TelemetryOptions> = {
  expected: 'true or { tracer, captureContent }',
  read(what, value) {
    if (value === true) return true
    if (typeof value !== 'object' || value === null)
      throw wrong(what, value, `${telemetryCheck.expected}, or remove it`)
    checkKeys('telemetry', value, ['tracer', 'captureContent'])
    const options = value as { readonly [name: string]: unknown }
    optional('captureContent of telemetry', options['captureContent'], flag)
    optional('tracer of telemetry', options['tracer'], tracerCheck)
    return value
  },
}

const tracerCheck: Check<Tracer> = check(
  "an OpenTelemetry tracer, such as trace.getTracer('my-service')",
  (value) => typeof (value as Partial<Tracer> | null)?.startSpan === 'function',
)

/** Loads @opentelemetry/api. Rejects with CREW_INVALID if it is not installed. */
export async function openTracing(telemetry: true | TelemetryOptions | undefined): Promise<Tracing | undefined> {
  if (telemetry === undefined) return undefined
  const { context, trace } = await import('@opentelemetry/api').catch(whenMissing('@opentelemetry/api', 'telemetry'))
  const { createTracing } = await import('./create-tracing.ts')
  const given: TelemetryOptions = telemetry === true ? {} : telemetry
  const { tracer = trace.getTracer('reprise'), captureContent = false } = given
  type Context = ReturnType<typeof context.active>
  const contexts: Contexts<Context> = {
    active: () => context.active(),
    withSpan: (parent, span) => trace.setSpan(parent, span as Parameters<typeof trace.setSpan>[1]),
    within: (active, work) => context.with(active, work),
  }
  return createTracing({ tracer, contexts, captureContent })
}

// own types: with those of @opentelemetry/api, our declarations would not compile without that package
export type SpanAttributes = { readonly [name: string]: string | number | boolean | string[] | undefined }

export interface Span {
  setAttributes(attributes: SpanAttributes): unknown
  setStatus(status: { readonly code: number; readonly message?: string }): unknown
  isRecording(): boolean
  end(): void
}

/** An OpenTelemetry tracer, such as `trace.getTracer('my-service')`. */
export interface Tracer {
  startSpan(name: string, options: { readonly kind: number; readonly attributes: SpanAttributes }, parent: never): Span
}

/** Contexts of @opentelemetry/api: they hold the parent of new spans, and are active while user code runs. */
export interface Contexts<Context = unknown> {
  active(): Context
  withSpan(context: Context, span: Span): Context
  /** Calls `work` with this context active, if the program has a context manager. */
  within<T>(context: Context, work: () => T): T
}
