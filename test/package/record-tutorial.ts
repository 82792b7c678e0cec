// Types docs/tutorial.md, and puts into the page what its commands print. Prompts are answered as the page does, and a
// command that doesn't end is given ten seconds.
import { readFile, writeFile } from 'node:fs/promises'
import { installPackage } from './installed-package.ts'
import { tutorialFile, typeTutorial } from './tutorial.ts'

const given = process.argv[2]
await using installed = given === undefined ? await installPackage() : undefined
const page = await readFile(tutorialFile, 'utf8')
let written = ''
let end = 0
try {
  await typeTutorial(given ?? installed!.tarball, ({ start, body }, shown) => {
    written += page.slice(end, start) + shown
    end = start + body.length
  })
} finally {
  await writeFile(tutorialFile, written + page.slice(end))
}
