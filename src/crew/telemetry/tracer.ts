// The parts of OpenTelemetry that Reprise uses, as own types: with the package's types, declarations would not compile
// without the package. A tracer of @opentelemetry/api fits `Tracer`.

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

/** Contexts of @opentelemetry/api, which parent spans and are active in user code. */
export interface Contexts<Context = unknown> {
  active(): Context
  withSpan(context: Context, span: Span): Context
  /** Does the work with this context active, if the program has a context manager. */
  within<T>(context: Context, work: () => T): T
}

// Numbers of the package's enums, which are part of its interface.
export const internalKind = 0
export const clientKind = 2
export const errorStatus = 2
