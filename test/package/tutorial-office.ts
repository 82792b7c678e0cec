// Types a page into an empty folder, as its reader does (tutorial-page.ts).
import assert from 'node:assert/strict'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { openTerminal, type Terminal } from '../support/terminal.ts'
import { applyDiff, normalise, titleOf, type Block } from './tutorial-page.ts'

export interface OfficeOptions {
  readonly folder: string
  readonly env: { readonly [name: string]: string | undefined }
  /** What the page has, and what stands there in this folder, such as ports. */
  readonly replace: readonly (readonly [page: string, here: string])[]
  /** In place of `npm install`. */
  install(packages: readonly string[]): Promise<void>
  /** Takes what a block shows. Default: it must show what the page does. */
  readonly record?: (block: Block, shown: string) => void
}

interface Window {
  readonly terminal: Terminal
  /** What the page has shown of it so far. */
  readonly shown: string
  readonly title: string
}

const columns = 72
/** Nothing on the page takes longer than some seconds. */
const patienceMs = 120_000

export class Office implements AsyncDisposable {
  readonly #options: OfficeOptions
  readonly #windows = new Map<string, Window>()
  /** Process numbers of the page, with those of the processes that stand in for them. */
  readonly #pids = new Map<string, string>()

  constructor(options: OfficeOptions) {
    this.#options = options
  }

  /** `output`: the text block that follows a block of commands. */
  async type(block: Block, output?: Block): Promise<void> {
    const file = join(this.#options.folder, block.place)
    if (block.language === 'ts') await writeFile(file, this.#here(block.body))
    else if (block.language === 'diff') await writeFile(file, applyDiff(await readFile(file, 'utf8'), block.body))
    else if (block.language === 'sh') await this.#execute(block, output)
    else if (block.continues) await this.#continue(block)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#windows.values()].map(({ terminal }) => terminal.close()))
  }

  async #execute(block: Block, output: Block | undefined): Promise<void> {
    const before = this.#windows.get(block.place)
    if (before) await this.#endOf(before)
    const lines = block.body.trim().split('\n')
    const installs = lines.findLastIndex((line) => line.startsWith('npm install '))
    for (const line of lines.slice(0, installs + 1)) {
      const [, packages] = /^npm install (.+)$/.exec(line) ?? []
      if (packages === undefined) await this.#silent(this.#open(block, line, ''))
      else await this.#options.install(packages.split(' '))
    }
    const rest = lines.slice(installs + 1).join('\n')
    if (rest === '') return
    const window = this.#open(block, rest, output?.body ?? '')
    if (output === undefined) await this.#silent(window)
    else await this.#see(window, output)
  }

  #open(block: Block, script: string, shown: string): Window {
    const { folder, env } = this.#options
    const here = this.#here(script).replaceAll(/\d+/g, (number) => this.#pids.get(number) ?? number)
    const window = { terminal: openTerminal(here, folder, env, columns), shown, title: titleOf(block) }
    this.#windows.set(block.place, window)
    return window
  }

  async #silent(window: Window): Promise<void> {
    await this.#end(window)
    assert.equal(window.terminal.code, 0, `${window.title}: ${window.terminal.screen()}`)
  }

  async #continue(block: Block): Promise<void> {
    const before = this.#windows.get(block.place)
    if (!before) throw new Error(`${titleOf(block)}: there is no such terminal`)
    const window = { ...before, shown: `${before.shown}${block.body}`, title: titleOf(block) }
    this.#windows.set(block.place, window)
    await this.#see(window, block)
  }

  /** Waits until the screen shows what the page shows, and answers prompts as the page does. */
  async #see(window: Window, block: Block): Promise<void> {
    const { terminal, shown, title } = window
    const { record } = this.#options
    // an empty block is still to be recorded
    const expected = block.body === '' ? undefined : normalise(shown)
    const answers = answersIn(shown)
    let answered = 0
    const recorded = record && AbortSignal.timeout(10_000)
    const enough = recorded && abortOf(recorded)
    await within(window, async () => {
      while (normalise(this.#there(terminal.screen())) !== expected && terminal.code === undefined) {
        await Promise.race([terminal.changed(), ...(enough ? [enough] : [])])
        if (recorded?.aborted) break
        const next = answers[answered]
        if (next === undefined || terminal.screen().split(next.prompt).length <= next.earlier + 1) continue
        answered += 1
        terminal.press(next.keys)
      }
    })
    const numbers = pidsIn(this.#there(terminal.screen()))
    for (const [index, number] of pidsIn(shown).entries()) this.#pids.set(number, numbers[index] ?? number)
    const screen = this.#there(terminal.screen())
    if (normalise(screen) !== expected && record) {
      const earlier = shown.slice(0, shown.length - block.body.length)
      const lines = screen.split('\n').slice(earlier.split('\n').length - 1)
      record(block, `${lines.join('\n')}\n`)
      this.#windows.set(block.place, { ...window, shown: `${earlier}${lines.join('\n')}\n` })
    } else assert.equal(normalise(screen), expected, `${title} shows:\n${screen}`)
  }

  /** Fails if the program prints more than the page shows. */
  async #endOf(window: Window): Promise<void> {
    await this.#end(window)
    const screen = this.#there(window.terminal.screen())
    if (window.shown !== '')
      assert.equal(normalise(screen), normalise(window.shown), `${window.title} shows:\n${screen}`)
  }

  async #end(window: Window): Promise<void> {
    await within(window, async () => {
      while (window.terminal.code === undefined) await window.terminal.changed()
    })
  }

  #here(text: string): string {
    return this.#options.replace.reduce((done, [page, here]) => done.replaceAll(page, here), text)
  }

  #there(text: string): string {
    const pids = [...this.#pids].map(([page, here]) => [`process ${page}`, `process ${here}`] as const)
    return [...this.#options.replace, ...pids].reduce((done, [page, here]) => done.replaceAll(here, page), text)
  }
}

function pidsIn(text: string): string[] {
  return [...text.matchAll(/\bprocess (\d+)/g)].map(([, number = '']) => number)
}

interface PromptAnswer {
  readonly prompt: string
  /** How often the prompt is on the screen before. */
  readonly earlier: number
  readonly keys: string
}

/** The answers that a transcript has after its prompts. */
function answersIn(shown: string): PromptAnswer[] {
  const count = new Map<string, number>()
  return [...shown.matchAll(/^(Your decision:)(?: (.+))?$|^(input \(JSON .*:)$|(\[y\/N\]) (\w+)$/gm)].map(
    ([, decision, decided = '', input, confirm, confirmed = '']) => {
      const prompt = decision ?? input ?? confirm ?? ''
      const earlier = count.get(prompt) ?? 0
      count.set(prompt, earlier + 1)
      return { prompt, earlier, keys: decided === '(none)' ? '\u001b' : `${decided}${confirmed}\r` }
    },
  )
}

async function within({ terminal, title }: Window, work: () => Promise<void>): Promise<void> {
  const late = AbortSignal.timeout(patienceMs)
  const tooLate = abortOf(late).then(() => {
    throw new Error(`${title} still shows:\n${terminal.screen()}`)
  })
  await Promise.race([work(), tooLate])
}

function abortOf(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
}
