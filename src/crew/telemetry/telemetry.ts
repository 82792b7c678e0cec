// Telemetry as users ask for it. The package of OpenTelemetry is loaded when a crew that wants it is first used, and by nobody else.
import { whenMissing } from '../../optional-package.ts'
import type { Tracing } from '../../engine/tracing.ts'
import { RepriseError } from '../../errors.ts'
import { checkFlag, checkKeys, describe } from '../../options.ts'
import type { Contexts, Tracer } from './tracer.ts'

export interface TelemetryOptions {
  /** Else one named `reprise`, of the program's global provider. */
  readonly tracer?: Tracer
  /** Put what models and tools are given and say into the spans, without the credentials that can be told. Default false. */
  readonly captureContent?: boolean
}

/** OPTION_UNKNOWN. */
export function checkTelemetry(telemetry: unknown): void {
  if (telemetry === undefined || telemetry === true) return
  if (typeof telemetry !== 'object' || telemetry === null)
    throw new RepriseError(
      'OPTION_UNKNOWN',
      `telemetry of a crew is ${describe(telemetry)}; give true or { tracer, captureContent }, or leave it out`,
    )
  checkKeys('telemetry', telemetry, ['tracer', 'captureContent'])
  const { tracer, captureContent } = telemetry as { tracer?: { startSpan?: unknown } | null; captureContent?: unknown }
  checkFlag('captureContent of telemetry', captureContent)
  if (tracer === undefined || typeof tracer?.startSpan === 'function') return
  throw new RepriseError(
    'OPTION_UNKNOWN',
    `tracer of telemetry is ${describe(tracer)}; give one of OpenTelemetry, such as trace.getTracer('my-service')`,
  )
}

/** CREW_INVALID when the package is not installed. */
export async function openTracing(telemetry: true | TelemetryOptions | undefined): Promise<Tracing | undefined> {
  if (telemetry === undefined) return undefined
  const { context, trace } = await import('@opentelemetry/api').catch(whenMissing('@opentelemetry/api', 'telemetry'))
  const { createTracing } = await import('./tracing.ts')
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
