// What a crew's file needs and does not find, in our own words: Node's say where in Node that was noticed.
import { relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { messageOf } from '../../base/errors.ts'

/** Which import of which file leads nowhere, and what to do; undefined for any other error. */
export function missingImport(error: unknown): string | undefined {
  const [, kind, wanted = '', importer = ''] =
    /^Cannot find (module|package) '(.*?)' imported from (.*)$/m.exec(messageOf(error)) ?? []
  if (kind === 'module')
    return `${shown(importer)} imports ${shown(wanted)}, which is not there; correct the import, or add that file`
  if (kind === 'package')
    return `${shown(importer)} imports the package ${wanted}, which is not installed; run npm install ${wanted}, or correct the import`
  const [, from = '', name = ''] =
    /^The requested module '(.*)' does not provide an export named '(.*)'$/m.exec(messageOf(error)) ?? []
  const [, place] = /^(file:\S+?):\d+\n/.exec((error as { stack?: string }).stack ?? '') ?? []
  if (place === undefined || name === '') return undefined
  return `${shown(place)} imports ${name} from ${from}, which does not export it; correct the import`
}

function shown(file: string): string {
  return relative(process.cwd(), file.startsWith('file:') ? fileURLToPath(file) : file)
}
