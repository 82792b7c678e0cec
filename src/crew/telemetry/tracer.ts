// What Reprise uses of OpenTelemetry, in types of its own: declarations that named the package would not compile for
// those who do not have it. A tracer of @opentelemetry/api is a `Tracer` by its shape.

export type SpanAttributes = { readonly [name: string]: string | number | boolean | string[] | undefined }

export interface Span {
  setAttributes(attributes: SpanAttributes): unknown
  setStatus(status: { readonly code: number; readonly message?: string }): unknown
  isRecording(): boolean
  end(): void
}

/** Any tracer of OpenTelemetry, such as `trace.getTracer('my-service')`. */
export interface Tracer {
  startSpan(name: string, options: { readonly kind: number; readonly attributes: SpanAttributes }, parent: never): Span
}

/** Of @opentelemetry/api: what spans stand in, and what the user's code sees as active. */
export interface Contexts<Context = unknown> {
  active(): Context
  withSpan(context: Context, span: Span): Context
  /** The work, with this context as the active one, where the program has a context manager. */
  within<T>(context: Context, work: () => T): T
}

// The numbers of the package's enums, which are part of its interface.
export const internalKind = 0
export const clientKind = 2
export const errorStatus = 2
