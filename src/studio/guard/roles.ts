// Who may do what: each role may do what those before it may.
import type { Role } from '../api/contract.ts'

export const roles: readonly Role[] = ['look', 'answer', 'act']

export function allows(role: Role, needed: Role): boolean {
  return roles.indexOf(role) >= roles.indexOf(needed)
}
