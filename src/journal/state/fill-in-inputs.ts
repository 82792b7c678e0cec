// Task texts for people, with the run's inputs in place of the placeholders.
import { ownMember } from '../../base/options.ts'
import { fillIn } from '../../text/fill-in.ts'
import { inputAsText } from '../files.ts'
import type { RunState } from './state.ts'

/** Placeholders without an input stay. */
export function fillInInputs(template: string, { inputs }: Pick<RunState, 'inputs'>): string {
  return fillIn(template, (name) => {
    const value = ownMember(inputs, name)
    return value === undefined ? undefined : inputAsText(value)
  })
}
