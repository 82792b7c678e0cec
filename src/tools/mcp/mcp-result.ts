// What a server answered, as a tool gives it: JSON that is worth a model's tokens.

interface CallResult {
  readonly isError?: boolean
  readonly structuredContent?: unknown
  readonly content?: readonly Block[]
  /** What servers of 2024 answered. */
  readonly toolResult?: unknown
}

interface Block {
  readonly type: string
  readonly text?: unknown
  readonly data?: unknown
  readonly resource?: { readonly blob?: unknown }
}

/**
 * The structured content; otherwise the text, if that is all there is; otherwise the list of blocks. Throws what the
 * server reports as an error. Images, sounds and other binary content are described and left out: as base64 in a tool's
 * result they would be paid for by the token and understood by no model.
 */
export function resultOf(answer: unknown): unknown {
  const { isError, structuredContent, content = [], toolResult } = answer as CallResult
  const blocks = content.map(withoutBytes)
  if (isError) throw new Error(textOf(blocks, structuredContent) || 'the tool did not say why')
  if (structuredContent !== undefined && structuredContent !== null) return structuredContent
  if (toolResult !== undefined) return toolResult
  const [only] = blocks
  if (blocks.length === 1 && only?.type === 'text') return only.text
  return blocks.length === 0 ? null : blocks
}

function textOf(blocks: readonly Block[], structured: unknown): string {
  const texts = blocks.map((block) => (block.type === 'text' ? String(block.text) : JSON.stringify(block)))
  return texts.join('\n') || (structured === undefined ? '' : JSON.stringify(structured))
}

function withoutBytes(block: Block): Block {
  const { data, resource } = block
  if (typeof data === 'string') return { ...block, data: left(data) }
  if (typeof resource?.blob !== 'string') return block
  return { ...block, resource: { ...resource, blob: left(resource.blob) } }
}

function left(base64: string): string {
  return `(${Buffer.byteLength(base64, 'base64')} bytes, left out)`
}
