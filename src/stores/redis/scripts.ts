// The scripts that the server executes: a file, after the functions that all files share.
import { luaFiles } from './lua-files.ts'

export type ScriptName =
  | 'acquire'
  | 'append'
  | 'claim'
  | 'create'
  | 'delete'
  | 'free'
  | 'list'
  | 'post'
  | 'ready'
  | 'release'
  | 'renew'
  | 'rights'

export function scriptText(name: ScriptName): string {
  return ['common', 'batch', name].map((file) => luaFiles[file]).join('')
}
