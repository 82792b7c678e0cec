// Markdown to blocks and spans, as data: headings, paragraphs, lists, quotes, code, tables, rules; strong, emphasis,
// code, links. What isn't recognised stays the text that it is, HTML above all. It's read in one pass, line by line, so
// that no text takes more than linear time.

export type Block =
  | { readonly is: 'heading'; readonly level: number; readonly text: string }
  | { readonly is: 'paragraph'; readonly text: string }
  | { readonly is: 'code'; readonly text: string }
  | { readonly is: 'quote'; readonly blocks: readonly Block[] }
  | { readonly is: 'list'; readonly ordered: boolean; readonly start: number; readonly items: readonly Block[][] }
  | { readonly is: 'table'; readonly head: readonly string[]; readonly rows: readonly (readonly string[])[] }
  | { readonly is: 'rule' }

export type Span =
  | { readonly is: 'text' | 'code'; readonly text: string }
  | { readonly is: 'strong' | 'emphasis'; readonly spans: readonly Span[] }
  | { readonly is: 'link'; readonly text: string; readonly url: string }
  | { readonly is: 'break' }

const deepest = 8

export function blocksOf(text: string, depth = 0): Block[] {
  const lines = text.replaceAll('\r\n', '\n').split('\n')
  const blocks: Block[] = []
  let at = 0
  while (at < lines.length) {
    const read = readBlock(lines, at, depth)
    if (read.block) blocks.push(read.block)
    at = read.next
  }
  return blocks
}

interface Read {
  readonly block?: Block
  readonly next: number
}

const fence = /^ {0,3}(```+|~~~+)/
const heading = /^ {0,3}(#{1,6})\s+(.*?)\s*#*\s*$/
const rule = /^ {0,3}([-*_])(?: *\1){2,} *$/
const quote = /^ {0,3}> ?/
const item = /^( *)([-*+]|\d{1,9}[.)])\s+(.*)$/
const tableRule = /^ *\|? *:?-{2,}:? *(\| *:?-{2,}:? *)*\|? *$/

function readBlock(lines: readonly string[], at: number, depth: number): Read {
  const line = lines[at] as string
  if (line.trim() === '') return { next: at + 1 }
  const fenced = fence.exec(line)
  if (fenced) return readCode(lines, at, fenced[1] as string)
  const head = heading.exec(line)
  if (head) return { block: { is: 'heading', level: head[1]?.length ?? 1, text: head[2] ?? '' }, next: at + 1 }
  if (rule.test(line)) return { block: { is: 'rule' }, next: at + 1 }
  if (depth < deepest && quote.test(line)) return readQuote(lines, at, depth)
  if (depth < deepest && item.test(line)) return readList(lines, at, depth)
  if (line.includes('|') && tableRule.test(lines[at + 1] ?? '') && (lines[at + 1] ?? '').includes('-'))
    return readTable(lines, at)
  return readParagraph(lines, at)
}

function readCode(lines: readonly string[], at: number, mark: string): Read {
  let end = at + 1
  while (end < lines.length && !(lines[end] as string).trimStart().startsWith(mark)) end++
  return { block: { is: 'code', text: lines.slice(at + 1, end).join('\n') }, next: end + 1 }
}

function readQuote(lines: readonly string[], at: number, depth: number): Read {
  let end = at
  while (end < lines.length && quote.test(lines[end] as string)) end++
  const inner = lines.slice(at, end).map((line) => line.replace(quote, ''))
  return { block: { is: 'quote', blocks: blocksOf(inner.join('\n'), depth + 1) }, next: end }
}

function readList(lines: readonly string[], at: number, depth: number): Read {
  const [, indent = '', first = '-'] = item.exec(lines[at] as string) ?? []
  const ordered = /\d/.test(first)
  const items: string[][] = []
  let next = at
  for (; next < lines.length; next++) {
    const line = lines[next] as string
    const found = item.exec(line)
    const isItem = found && found[1]?.length === indent.length && /\d/.test(found[2] ?? '') === ordered
    if (isItem) items.push([found[3] ?? ''])
    else if (line.trim() === '') {
      // a list goes on after an empty line only with another item, or with what is indented
      const following = lines[next + 1] ?? ''
      if (!item.test(following) && !following.startsWith(`${indent}  `)) break
      items.at(-1)?.push('')
    } else if (line.startsWith(`${indent}  `)) items.at(-1)?.push(line.slice(indent.length + 2))
    else if (found || heading.test(line) || fence.test(line) || quote.test(line)) break
    else items.at(-1)?.push(line)
  }
  const blocks = items.map((own) => blocksOf(own.join('\n'), depth + 1))
  return { block: { is: 'list', ordered, start: ordered ? Number.parseInt(first, 10) : 1, items: blocks }, next }
}

function readTable(lines: readonly string[], at: number): Read {
  const head = cellsOf(lines[at] as string)
  const rows: string[][] = []
  let next = at + 2
  while (next < lines.length && (lines[next] as string).includes('|')) rows.push(cellsOf(lines[next++] as string))
  return { block: { is: 'table', head, rows }, next }
}

function cellsOf(line: string): string[] {
  return line
    .trim()
    .replace(/^\||\|$/g, '')
    .split('|')
    .map((cell) => cell.trim())
}

function readParagraph(lines: readonly string[], at: number): Read {
  let end = at + 1
  while (end < lines.length && !beginsBlock(lines[end] as string)) end++
  return { block: { is: 'paragraph', text: lines.slice(at, end).join('\n') }, next: end }
}

function beginsBlock(line: string): boolean {
  return [fence, heading, rule, quote, item].some((pattern) => pattern.test(line)) || line.trim() === ''
}

const span =
  /(`+)([^`]+?)\1|\*\*(?=\S)([^*]+?)\*\*|__(?=\S)([^_]+?)__|\*(?=\S)([^*\n]+?)\*|\b_(?=\S)([^_\n]+?)_\b|!?\[([^\]\n]{0,500})\]\(([^()\s]{1,2000})\)|(https?:\/\/[^\s<>()"']{1,2000})|( {2,}\n)/g

export function spansOf(text: string, depth = 0): Span[] {
  const found: Span[] = []
  let at = 0
  for (const match of text.matchAll(span)) {
    if (match.index > at) found.push({ is: 'text', text: text.slice(at, match.index) })
    at = match.index + match[0].length
    found.push(spanOf(match, depth))
  }
  if (at < text.length) found.push({ is: 'text', text: text.slice(at) })
  return found
}

function spanOf(match: RegExpMatchArray, depth: number): Span {
  const [whole, , code, strong = match[4], , emphasis = match[6], , label, target, address, lineEnd] = match
  if (code !== undefined) return { is: 'code', text: code }
  const inner = strong ?? emphasis
  if (inner !== undefined) {
    const spans: Span[] = depth < 3 ? spansOf(inner, depth + 1) : [{ is: 'text', text: inner }]
    return { is: strong === undefined ? 'emphasis' : 'strong', spans }
  }
  if (lineEnd !== undefined) return { is: 'break' }
  const url = address ?? target ?? ''
  // anything but a page on the web is shown as it was written: javascript:, data:, a picture from elsewhere
  if (!/^https?:\/\//i.test(url) || whole.startsWith('!')) return { is: 'text', text: whole }
  return { is: 'link', text: label ?? url, url }
}
