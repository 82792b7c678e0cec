// The name of the person at this terminal, for the journal.
import { userInfo } from 'node:os'

function loginName(): string | undefined {
  try {
    return userInfo().username
  } catch {
    // the user id of a container may have no name
    return undefined
  }
}

/** The `by` option of the library. */
export function readSigner(by: string | undefined): { readonly by?: string } {
  const name = by ?? loginName()
  return name === undefined ? {} : { by: name }
}
