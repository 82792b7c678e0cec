// Parses Markdown into blocks and spans: headings, paragraphs, lists, quotes, code, tables, rules; strong, emphasis,
// code, links. Anything else stays text, above all HTML. Blocks are read line by line, in one pass per nesting level.

export type Block =
  | { readonly type: 'heading'; readonly level: number; readonly text: string }
  | { readonly type: 'paragraph'; readonly text: string }
  | { readonly type: 'code'; readonly text: string }
  | { readonly type: 'quote'; readonly blocks: readonly Block[] }
  | { readonly type: 'list'; readonly ordered: boolean; readonly start: number; readonly items: readonly Block[][] }
  | { readonly type: 'table'; readonly head: readonly string[]; readonly rows: readonly (readonly string[])[] }
  | { readonly type: 'rule' }

export type Span =
  | { readonly type: 'text' | 'code'; readonly text: string }
  | { readonly type: 'strong' | 'emphasis'; readonly spans: readonly Span[] }
  | { readonly type: 'link'; readonly text: string; readonly url: string }
  | { readonly type: 'break' }

const maxDepth = 8

export function parseBlocks(text: string, depth = 0): Block[] {
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

interface ParsedBlock {
  readonly block?: Block
  readonly next: number
}

const fence = /^ {0,3}(```+|~~~+)/
const heading = /^ {0,3}(#{1,6})\s+(.*?)\s*#*\s*$/
const rule = /^ {0,3}([-*_])(?: *\1){2,} *$/
const quote = /^ {0,3}> ?/
const item = /^( *)([-*+]|\d{1,9}[.)])\s+(.*)$/
const tableRule = /^ *\|? *:?-{2,}:? *(\| *:?-{2,}:? *)*\|? *$/

function readBlock(lines: readonly string[], at: number, depth: number): ParsedBlock {
  const line = lines[at] as string
  if (line.trim() === '') return { next: at + 1 }
  const fenced = fence.exec(line)
  if (fenced) return readCode(lines, at, fenced[1] as string)
  const head = heading.exec(line)
  if (head) return { block: { type: 'heading', level: head[1]?.length ?? 1, text: head[2] ?? '' }, next: at + 1 }
  if (rule.test(line)) return { block: { type: 'rule' }, next: at + 1 }
  if (depth < maxDepth && quote.test(line)) return readQuote(lines, at, depth)
  if (depth < maxDepth && item.test(line)) return readList(lines, at, depth)
  if (line.includes('|') && tableRule.test(lines[at + 1] ?? '') && (lines[at + 1] ?? '').includes('-'))
    return readTable(lines, at)
  return readParagraph(lines, at)
}

function readCode(lines: readonly string[], at: number, mark: string): ParsedBlock {
  let end = at + 1
  while (end < lines.length && !(lines[end] as string).trimStart().startsWith(mark)) end++
  return { block: { type: 'code', text: lines.slice(at + 1, end).join('\n') }, next: end + 1 }
}

function readQuote(lines: readonly string[], at: number, depth: number): ParsedBlock {
  let end = at
  while (end < lines.length && quote.test(lines[end] as string)) end++
  const inner = lines.slice(at, end).map((line) => line.replace(quote, ''))
  return { block: { type: 'quote', blocks: parseBlocks(inner.join('\n'), depth + 1) }, next: end }
}

function readList(lines: readonly string[], at: number, depth: number): ParsedBlock {
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
      // after an empty line, a list continues only with an item or an indented line
      const following = lines[next + 1] ?? ''
      if (!item.test(following) && !following.startsWith(`${indent}  `)) break
      items.at(-1)?.push('')
    } else if (line.startsWith(`${indent}  `)) items.at(-1)?.push(line.slice(indent.length + 2))
    else if (found || heading.test(line) || fence.test(line) || quote.test(line)) break
    else items.at(-1)?.push(line)
  }
  const blocks = items.map((own) => parseBlocks(own.join('\n'), depth + 1))
  return { block: { type: 'list', ordered, start: ordered ? Number.parseInt(first, 10) : 1, items: blocks }, next }
}

function readTable(lines: readonly string[], at: number): ParsedBlock {
  const head = splitCells(lines[at] as string)
  const rows: string[][] = []
  let next = at + 2
  while (next < lines.length && (lines[next] as string).includes('|')) rows.push(splitCells(lines[next++] as string))
  return { block: { type: 'table', head, rows }, next }
}

function splitCells(line: string): string[] {
  return line
    .trim()
    .replace(/^\||\|$/g, '')
    .split('|')
    .map((cell) => cell.trim())
}

function readParagraph(lines: readonly string[], at: number): ParsedBlock {
  let end = at + 1
  while (end < lines.length && !beginsBlock(lines[end] as string)) end++
  return { block: { type: 'paragraph', text: lines.slice(at, end).join('\n') }, next: end }
}

function beginsBlock(line: string): boolean {
  return [fence, heading, rule, quote, item].some((pattern) => pattern.test(line)) || line.trim() === ''
}

const span =
  /(`+)([^`]+?)\1|\*\*(?=\S)([^*]+?)\*\*|__(?=\S)([^_]+?)__|\*(?=\S)([^*\n]+?)\*|\b_(?=\S)([^_\n]+?)_\b|!?\[([^\]\n]{0,500})\]\(([^()\s]{1,2000})\)|(https?:\/\/[^\s<>()"']{1,2000})|( {2,}\n)/g

export function parseSpans(text: string, depth = 0): Span[] {
  const found: Span[] = []
  let at = 0
  for (const match of text.matchAll(span)) {
    if (match.index > at) found.push({ type: 'text', text: text.slice(at, match.index) })
    at = match.index + match[0].length
    found.push(toSpan(match, depth))
  }
  if (at < text.length) found.push({ type: 'text', text: text.slice(at) })
  return found
}

/** Removes the marks of headings and spans, for titles, which aren't rendered as Markdown. */
export function plainText(text: string): string {
  const words = (spans: readonly Span[]): string =>
    spans.map((each) => (each.type === 'break' ? ' ' : 'spans' in each ? words(each.spans) : each.text)).join('')
  return words(parseSpans(text.replaceAll(/^#+ /gm, '')))
}

function toSpan(match: RegExpMatchArray, depth: number): Span {
  const [whole, , code, strong = match[4], , emphasis = match[6], , label, target, address, lineEnd] = match
  if (code !== undefined) return { type: 'code', text: code }
  const inner = strong ?? emphasis
  if (inner !== undefined) {
    const spans: Span[] = depth < 3 ? parseSpans(inner, depth + 1) : [{ type: 'text', text: inner }]
    return { type: strong === undefined ? 'emphasis' : 'strong', spans }
  }
  if (lineEnd !== undefined) return { type: 'break' }
  const url = address ?? target ?? ''
  // javascript: and data: URLs and remote images stay text
  if (!/^https?:\/\//i.test(url) || whole.startsWith('!')) return { type: 'text', text: whole }
  return { type: 'link', text: label ?? url, url }
}
