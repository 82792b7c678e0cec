// Reads a provider's key and address from the environment, and checks that nothing is missing. Sends nothing.
import { firstSet } from '../../base/environment.ts'
import { RepriseError } from '../../base/errors.ts'
import { isInstalled } from '../../base/optional-package.ts'
import { describe } from '../../base/options.ts'
import { redact } from '../../secrets/redact.ts'
import type { Provider } from './providers.ts'
import type { NamedModel } from './model-names.ts'

export interface Access {
  readonly apiKey: string | undefined
  /** The full address, from the variable that has it. Undefined if no variable is set. */
  readonly address: string | undefined
}

export function readAccess(provider: Provider): Access {
  const address = firstSet(provider.addresses)?.value
  return {
    apiKey: firstSet(provider.keys)?.value,
    address: address === undefined ? undefined : completeAddress(address, provider),
  }
}

/** The variable with the key; if none is set, the variable to set. */
export function keyVariable(provider: Provider): string | undefined {
  return firstSet(provider.keys)?.name ?? provider.keys[0]
}

/** Whether a variable names another server than the provider's own. */
export function hasOwnAddress(provider: Provider): boolean {
  const address = firstSet(provider.addresses)?.value
  return address !== undefined && URL.parse(address)?.hostname !== URL.parse(provider.url ?? '')?.hostname
}

/** Appends the path that users often leave out. Not after a query, since it would become part of the query. */
function completeAddress(address: string, { url = '', ending = URL.parse(url)?.pathname ?? '' }: Provider): string {
  const plain = address.replace(/\/+$/, '')
  return /\/v\d\w*$|\?/.test(plain) ? plain : `${plain}${ending}`.replace(/\/+$/, '')
}

/**
 * Throws MODEL_INVALID if the package is missing or the address is invalid; MODEL_KEY_MISSING if the key is missing or
 * invalid, or another required variable is missing.
 */
export function checkProvider({ name, id, provider }: NamedModel): void {
  if (provider.package !== undefined && !isInstalled(provider.package)) {
    throw new RepriseError('MODEL_INVALID', `model ${name} needs a package: run npm install ${provider.package}`)
  }
  const access = readAccess(provider)
  const missing = provider.missing ? provider.missing(id, access) : missingKey(provider, access)
  if (missing !== undefined) throw new RepriseError('MODEL_KEY_MISSING', `model ${name} needs ${missing}`)
  const key = firstSet(provider.keys)
  if (key !== undefined && /[^\x21-\x7e]/.test(key.value)) {
    const words = `model ${name} cannot be called: ${key.name} contains a line break or another character that isn't allowed in keys; set it again`
    throw new RepriseError('MODEL_KEY_MISSING', words)
  }
  const address = firstSet(provider.addresses)
  if (address === undefined || /^https?:$/.test(URL.parse(address.value)?.protocol ?? '')) return
  // without user name and password, which end at the @
  const shown = describe(redact(address.value.replace(/^.*@/s, '')))
  const words = `model ${name} cannot be reached: ${address.name} is ${shown}; set it to a full URL, such as http://127.0.0.1:8080/v1`
  throw new RepriseError('MODEL_INVALID', words)
}

function missingKey({ keys }: Provider, { apiKey }: Access): string | undefined {
  return apiKey === undefined ? `an API key: set ${keys.join(' or ')}` : undefined
}
