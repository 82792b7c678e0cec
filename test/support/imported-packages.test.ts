import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { temporaryFolder } from '../stores/temporary-folder.ts'
import { importedPackages } from './imported-packages.ts'

test('importedPackages lists direct, indirect and dynamic imports, but no type imports', async () => {
  await using folder = await temporaryFolder()
  const write = (name: string, text: string) => writeFile(join(folder.path, name), text)
  await write('a.test.ts', "import {\n  b,\n} from './b.ts'\nimport type { C } from 'c'\nawait import('d')\n")
  await write(
    'b.ts',
    "import './a.test.ts'\nimport { x } from '@e/f/part'\nimport h from 'helper'\nexport const c = [import.meta, 'c']\n",
  )
  const needed = importedPackages(join(folder.path, 'a.test.ts'), ['c', 'd', '@e/f', 'help'])
  assert.deepEqual(needed.toSorted(), ['@e/f', 'd'])
})
