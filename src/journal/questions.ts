// Questions to people, and their answers. Part of the file format.
import type { Json } from './json.ts'
import type { OnceCall, Owner, Usage } from './values.ts'

export type Question = { readonly id: string; readonly path: string; readonly text: string } & (
  | { readonly kind: 'result'; readonly output: Json; readonly round: number }
  | {
      readonly kind: 'call'
      readonly tool: string
      readonly input: Json
      readonly key: string
      readonly earlier: readonly OnceCall[]
    }
  | {
      readonly kind: 'doubt'
      readonly tool: string
      readonly input: Json
      readonly key: string
      readonly calledAt: string
      readonly owner: Owner
    }
  | { readonly kind: 'limit'; readonly limit: Json; readonly spent: Usage }
  /** A flow asks for a value. `schema`: a JSON Schema. `about`: what a person needs to see. */
  | { readonly kind: 'value'; readonly schema: Json; readonly about?: Json }
)

type Signed = { readonly by?: string; readonly note?: string }
export type Fail = { readonly decision: 'fail'; readonly reason: string }
export interface Answers {
  result: (
    | { decision: 'approve' }
    | { decision: 'revise'; feedback: string }
    | { decision: 'replace'; output: Json }
    | Fail
  ) &
    Signed
  call: (
    | { decision: 'approve'; input?: Json }
    | { decision: 'deny'; reason: string }
    | { decision: 'use'; result: Json }
    | Fail
  ) &
    Signed
  doubt: ({ decision: 'run' } | { decision: 'happened'; result: Json } | Fail) & Signed
  limit: ({ decision: 'raise'; to: Json } | Fail) & Signed
  value: ({ decision: 'answer'; value: Json } | Fail) & Signed
}
export type QuestionKind = keyof Answers
export type Answer = Answers[QuestionKind]
