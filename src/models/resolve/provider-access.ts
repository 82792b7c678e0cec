// What the environment says of a provider, and whether that is enough to ask it. Nothing is sent anywhere.
import { firstSet } from '../../base/environment.ts'
import { RepriseError } from '../../base/errors.ts'
import { isInstalled } from '../../base/optional-package.ts'
import { describe } from '../../base/options.ts'
import { redact } from '../../secrets/redact.ts'
import type { Provider } from './providers.ts'
import type { NamedModel } from './model-names.ts'

export interface Access {
  readonly apiKey: string | undefined
  /** As a variable gives it, complete; undefined when none does. */
  readonly address: string | undefined
}

export function readAccess(provider: Provider): Access {
  const given = firstSet(provider.addresses)?.value
  return {
    apiKey: firstSet(provider.keys)?.value,
    address: given === undefined ? undefined : completeAddress(given, provider.ending),
  }
}

/** The variable that holds its key, or, where none is set, the one to set. */
export function keyVariable(provider: Provider): string | undefined {
  return firstSet(provider.keys)?.name ?? provider.keys[0]
}

/** Whether a variable leads to another server than the provider's own. */
export function hasOwnAddress(provider: Provider): boolean {
  const given = firstSet(provider.addresses)?.value
  return given !== undefined && URL.parse(given)?.hostname !== URL.parse(provider.url ?? '')?.hostname
}

// An address with a query is left alone: whatever is added to it would become a part of that.
function completeAddress(address: string, ending: string | undefined): string {
  const plain = address.replace(/\/+$/, '')
  return ending === undefined || /\/v\d\w*$|\?/.test(plain) ? plain : plain + ending
}

/**
 * MODEL_INVALID when its package is missing or its address is invalid, MODEL_KEY_MISSING when a variable that it needs
 * is missing, or its key is invalid.
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
    const words = `model ${name} cannot be asked: ${key.name} has a line break or another character that no key has; set it again`
    throw new RepriseError('MODEL_KEY_MISSING', words)
  }
  const address = firstSet(provider.addresses)
  if (address === undefined || /^https?:$/.test(URL.parse(address.value)?.protocol ?? '')) return
  // it may begin with a name and a password
  const shown = describe(redact(address.value.replace(/^.*@/s, '')))
  const words = `model ${name} cannot be reached: ${address.name} is ${shown}; set it to a whole address, such as http://127.0.0.1:8080/v1`
  throw new RepriseError('MODEL_INVALID', words)
}

function missingKey({ keys }: Provider, { apiKey }: Access): string | undefined {
  return apiKey === undefined ? `an API key: set ${keys.join(' or ')}` : undefined
}
