// Searches for a key in everything that a run leaves behind.
import assert from 'node:assert/strict'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'

/** The bytes of all files of a folder, one character each. */
export async function storedIn(folder: string): Promise<string> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))
  return (await Promise.all(files.map((file) => readFile(file, 'latin1')))).join('\n')
}

/** No seven characters of the key, as they are, in base64, in hexadecimal or backwards, are in any of the texts. */
export function assertNowhere(key: string, texts: { readonly [where: string]: string }): void {
  const hex = Buffer.from(key).toString('hex')
  const coded = ['', 'a', 'ab'].map((before) =>
    Buffer.from(before + key)
      .toString('base64')
      .slice(4, -4),
  )
  const forms = [key, ...coded, hex, hex.toUpperCase(), key.split('').toReversed().join('')]
  for (const [where, text] of Object.entries(texts)) {
    for (const form of forms) {
      for (let at = 0; at + 7 <= form.length; at++) {
        const found = text.indexOf(form.slice(at, at + 7))
        assert.equal(found, -1, `${where} holds ${form.slice(at, at + 7)}: …${text.slice(found - 100, found + 100)}…`)
      }
    }
  }
}
