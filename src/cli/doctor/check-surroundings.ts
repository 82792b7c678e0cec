// Checks Node, the package, the terminal and the environment. Only the names of keys are printed.
import { existsSync, readFileSync } from 'node:fs'
import { parseEnv } from 'node:util'
import { environment, firstSet } from '../../base/environment.ts'
import { messageOf } from '../../base/errors.ts'
import { providers } from '../../models/resolve/providers.ts'
import { plural } from '../output/words.ts'
import { packageVersion as version } from '../../studio/package-version.ts'
import { ok, warn, fail, type Check } from './check.ts'

export function checkSurroundings(): Check[] {
  return [
    // main.ts has refused an older Node
    checkRuntime(),
    ok('reprise', version()),
    checkTerminal(),
    checkEnvFile(),
    ...checkVariables(),
    checkKeys(),
  ]
}

/** Bun and Deno have a version of Node too. */
function checkRuntime(): Check {
  const { versions, platform, arch } = process
  const name = ['bun', 'deno'].find((other) => versions[other] !== undefined) ?? 'node'
  return ok(name, `${versions[name]} on ${platform} ${arch}`)
}

function checkTerminal(): Check {
  const { stdin, stdout, stderr } = process
  const streams = { stdin, stdout, stderr }
  const piped = Object.entries(streams).flatMap(([name, stream]) => (stream.isTTY ? [] : [name]))
  if (piped.length > 0) {
    const words = `${piped.join(', ')} ${piped.length === 1 ? 'is' : 'are'} not a terminal`
    return ok(
      'terminal',
      `${words}: ${piped.includes('stderr') || piped.includes('stdin') ? 'commands ask no questions' : 'data is printed unformatted'}`,
    )
  }
  const depth = stderr.getColorDepth()
  const size = `${stderr.columns} columns, ${depth > 1 ? `${2 ** depth} colours` : 'no colours'}`
  if (environment().dumbTerminal)
    return warn(
      'terminal',
      `${size}, and TERM is dumb: progress is printed line by line`,
      'set TERM, to xterm-256color for example',
    )
  return ok('terminal', size)
}

function checkEnvFile(): Check {
  if (!existsSync('.env')) return ok('.env', 'none in this folder: only the environment is used')
  try {
    const names = Object.keys(parseEnv(readFileSync('.env', 'utf8')))
    return ok('.env', plural(names.length, 'variable'))
  } catch (error) {
    return fail('.env', messageOf(error), 'correct it, or remove it')
  }
}

function checkVariables(): Check[] {
  try {
    // reading it throws if the variable is wrong
    void environment().leaseSeconds
    return []
  } catch (error) {
    return [fail('environment', messageOf(error), 'correct the variable')]
  }
}

function checkKeys(): Check {
  const set = providers.flatMap((provider) => provider.keys).filter((name) => firstSet([name]) !== undefined)
  // the check of the crew's models reports a missing key
  if (set.length === 0) return ok('keys', 'none of a model provider is set')
  return ok('keys', `${set.join(', ')} ${set.length === 1 ? 'is' : 'are'} set`)
}
