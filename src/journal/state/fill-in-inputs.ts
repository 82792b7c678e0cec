// The texts of tasks as people read them: with the inputs of the run in place of the placeholders.
import { ownMember } from '../../base/options.ts'
import { fillIn } from '../../text/fill-in.ts'
import { inputAsText } from '../files.ts'
import type { RunState } from './state.ts'

/** A placeholder for which the run has no input stays as it is. */
export function fillInInputs(template: string, { inputs }: Pick<RunState, 'inputs'>): string {
  return fillIn(template, (name) => {
    const value = ownMember(inputs, name)
    return value === undefined ? undefined : inputAsText(value)
  })
}
