// Reads and checks the options of a studio.
import { check, func, optional, text, type Check } from '../base/checks.ts'
import { Crew } from '../crew/crew.ts'
import { RepriseError } from '../base/errors.ts'
import { checkKeys } from '../base/options.ts'
import type { StudioOptions } from './studio.ts'

export interface StudioSettings extends Omit<StudioOptions, 'crews' | 'base' | 'allowHosts'> {
  readonly crews: readonly Crew[]
  /** Without a slash at the end; empty for the root. */
  readonly base: string
  /** Undefined: any. */
  readonly allowHosts: readonly string[] | undefined
}

const crewList: Check<readonly Crew[]> = check(
  'a list of crews',
  (value) => Array.isArray(value) && value.every((item) => Crew.isInstance(item)),
)
const pathCheck: Check<string> = check(
  'a path such as /studio',
  (value) => typeof value === 'string' && /^(\/[\w.~-]+)*\/?$/.test(value) && !value.includes('..'),
)
const names: Check<readonly string[]> = check(
  'a list of host names, without ports',
  (value) => Array.isArray(value) && value.every((name) => typeof name === 'string' && /^[\w.-]+$/.test(name)),
)

/** OPTION_INVALID, OPTION_UNKNOWN. */
export function readStudioOptions(options: StudioOptions): StudioSettings {
  checkKeys('studio', options, ['crews', 'store', 'base', 'authorize', 'tokens', 'allowHosts', 'by', 'page'])
  const { authorize, tokens } = options
  optional('authorize', authorize, func)
  if (authorize && tokens)
    throw new RepriseError('OPTION_INVALID', 'authorize and tokens exclude each other; give only one of them')
  const allowHosts = optional('allowHosts', options.allowHosts, names)
  optional('by', options.by, text)
  optional('page', options.page, text)
  return {
    ...options,
    crews: optional('crews', options.crews, crewList) ?? [],
    base: (optional('base', options.base, pathCheck) ?? '').replace(/\/$/, ''),
    allowHosts: allowHosts ?? (authorize ? undefined : []),
  }
}
