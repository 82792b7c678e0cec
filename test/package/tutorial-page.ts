// A page that teaches by doing, as data: the files to write, the edits, the commands, and what they print.
//
//   ```ts      the first line, `// crew.ts`, names the file
//   ```diff    so does the first line here; `…` stands for lines that are left out
//   ```sh      commands; a first line `# second terminal` says where. Default: the first
//   ```text    what the commands above print, or what a terminal that is named as above prints in addition

export interface Block {
  /** The heading of its section. */
  readonly step: string
  readonly language: 'ts' | 'diff' | 'sh' | 'text'
  /** The text without the name of a file or terminal. */
  readonly body: string
  /** The file of `ts` and `diff`, the terminal of `sh` and `text`. */
  readonly place: string
  /** Set for `text` that doesn't follow its commands. */
  readonly continues: boolean
  /** Where `body` begins on the page. */
  readonly start: number
}

export function titleOf({ step, language, place }: Block): string {
  return language === 'sh' || language === 'text' ? `${step}: the ${place} terminal` : `${step}: ${place}`
}

export function readPage(page: string): Block[] {
  const blocks: Block[] = []
  let step = 'Before the first step'
  for (const { index, 0: all, 1: heading, 2: language, 3: text = '' } of page.matchAll(
    /^## (.+)$|^```(\w+)\n([^]*?)^```$/gm,
  )) {
    if (heading !== undefined) step = heading
    else {
      const block = readBlock(step, language as Block['language'], text, blocks.at(-1))
      blocks.push({ ...block, start: index + all.length - '```'.length - block.body.length })
    }
  }
  return blocks
}

function readBlock(
  step: string,
  language: Block['language'],
  text: string,
  before: Block | undefined,
): Omit<Block, 'start'> {
  if (language === 'ts' || language === 'diff') {
    const [, place] = /^ ?\/\/ (\S+)\n/.exec(text) ?? []
    if (place === undefined) throw new Error(`${step}: a ${language} block has no first line with the name of its file`)
    return { step, language, body: text, place, continues: false }
  }
  const [header = '', named] = /^# (\w+) terminal\n/.exec(text) ?? []
  const continues = language === 'text' && named !== undefined
  const place = named ?? (language === 'text' ? before?.place : undefined) ?? 'first'
  return { step, language, body: text.slice(header.length), place, continues }
}

/** Applies a diff: each run of lines between two `…` must be in the file, once. */
export function applyDiff(file: string, diff: string): string {
  return diff.split(/^ *…\n/m).reduce((text, hunk) => {
    const lines = hunk.split('\n').filter((line) => line !== '')
    // this line names the file
    const kept = lines.filter((line) => !/^ \/\/ \S+\.\w+$/.test(line))
    const side = (sign: string): string =>
      kept.flatMap((line) => (line.startsWith(' ') || line.startsWith(sign) ? `${line.slice(1)}\n` : [])).join('')
    const before = side('-')
    const places = text.split(before).length - 1
    if (places !== 1) throw new Error(`${places} places in the file have these lines:\n${before}`)
    return text.replace(before, () => side('+'))
  }, file)
}

/** What differs from run to run becomes the same: ids, times, process numbers, frames of an animation. */
export function normalise(screen: string): string {
  const lines = screen
    .replaceAll(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, '<id>')
    .replaceAll(/\b01[0-9a-f]{6}-[0-9a-f-]*…?/g, '<id>')
    .replaceAll(/\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?Z?|\b\d\d:\d\d(:\d\d)?\b/g, '<time>')
    .replaceAll(/\b(\d+m)?\d+(\.\d+)?s\b/g, '<seconds>')
    .replaceAll(/\bprocess \d+/g, 'process <pid>')
    .replaceAll(/[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏]/g, '⠿')
    .replaceAll(/^.*\bKilled\b.*$/gm, 'Killed')
    .split('\n')
    .map((line) => line.trim().replaceAll(/ +/g, ' '))
  // a tool may print at any time, also while a person is asked
  const [printed, others] = [true, false].map((byTool) =>
    lines.filter((line) => line.startsWith('process <pid>') === byTool),
  )
  return [...printed!.toSorted(), ...others!].join('\n').trim()
}
