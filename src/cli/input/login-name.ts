// Who does something at this terminal, for the journal.
import { userInfo } from 'node:os'

function loginName(): string | undefined {
  try {
    return userInfo().username
  } catch {
    // a container may run under a number that has no name
    return undefined
  }
}

/** As the library's calls take it. */
export function signedBy(by: string | undefined): { readonly by?: string } {
  const name = by ?? loginName()
  return name === undefined ? {} : { by: name }
}
