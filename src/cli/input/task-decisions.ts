// `--renamed book=post` and `--removed note` of resume, plan, fork and its presets.
import type { TaskDecisionOptions } from '../../crew/verbs/shared-options.ts'
import { UsageError } from '../exit-codes.ts'

interface TypedDecisions {
  readonly renamed?: readonly string[]
  readonly removed?: readonly string[]
}

export function readTaskDecisions({ renamed, removed }: TypedDecisions): TaskDecisionOptions {
  return {
    ...(renamed === undefined ? {} : { renamed: Object.fromEntries(renamed.map(parseRename)) }),
    ...(removed === undefined ? {} : { removed }),
  }
}

function parseRename(typed: string): [string, string] {
  const [old = '', now = '', ...more] = typed.split('=')
  if (old !== '' && now !== '' && more.length === 0) return [old, now]
  throw new UsageError(`--renamed ${typed} is not a pair; write --renamed old=new`)
}
