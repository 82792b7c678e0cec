// A read-only folder is reported with its path and the remedy, before anything is spent.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { chmod, mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'

for (const scheme of ['sqlite', 'file']) {
  test(`a ${scheme} store in a read-only folder names the folder and REPRISE_STORE`, async () => {
    const outer = await mkdtemp(join(tmpdir(), 'reprise-read-only-'))
    const folder = join(outer, 'folder')
    await mkdir(folder)
    await chmod(outer, 0o755)
    await chmod(folder, 0o555)
    try {
      const url = `${scheme}:${join(folder, 'state')}`
      const code = `import { openStore } from 'reprise/stores'
        await openStore(${JSON.stringify(url)}).then(() => console.log('opened'), (error) => console.log(error.code, error.message))`
      // nothing is read-only for root
      const nobody = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {}
      const args = ['--conditions=reprise-source', '--input-type=module', '-e', code]
      const said = execFileSync(process.execPath, args, { encoding: 'utf8', ...nobody })
      assert.match(said, /^STORE_INVALID /)
      assert.ok(said.includes(folder), said)
      assert.match(said, /REPRISE_STORE/)
    } finally {
      await chmod(folder, 0o755)
      await rm(outer, { recursive: true, force: true })
    }
  })
}
