// Converts the answer of an MCP server to a tool's result, which is JSON, and to what models receive, with images.

interface CallResult {
  readonly isError?: boolean
  readonly structuredContent?: unknown
  readonly content?: readonly Block[]
  /** Used instead of `content` in the first version of the protocol, of 2024. */
  readonly toolResult?: unknown
}

interface Block {
  readonly type: string
  readonly text?: unknown
  readonly data?: unknown
  readonly mimeType?: unknown
  readonly resource?: { readonly blob?: unknown; readonly mimeType?: unknown }
}

const forModel = Symbol('what models receive instead of the result')

/**
 * Returns the structured content; otherwise the result of a server of 2024; otherwise the text, if the only block is
 * text; otherwise the list of blocks, or null if there are none. Throws if the server reports an error. Binary content
 * is replaced by its size: as base64 it would cost tokens, and no model understands it. `modelResult` has the images.
 */
export function readMcpResult(answer: unknown): unknown {
  const { isError, structuredContent, content = [], toolResult } = answer as CallResult
  const blocks = content.map(withoutBytes)
  if (isError) throw new Error(blocksText(blocks, structuredContent) || 'the tool gave no reason')
  const result = blocksJson(blocks, structuredContent, toolResult)
  const sent = withImages(content, result)
  // a symbol isn't part of the JSON that the journal records
  if (sent && typeof result === 'object') Object.defineProperty(result, forModel, { value: sent })
  return result
}

/** Returns text and images, in the AI SDK's format, if the result has images; otherwise undefined. */
export function modelResult(result: unknown): unknown {
  return (result as { readonly [forModel]?: unknown } | null)?.[forModel]
}

function blocksJson(blocks: readonly Block[], structured: unknown, older: unknown): unknown {
  if (structured !== undefined && structured !== null) return structured
  if (older !== undefined) return older
  const [only] = blocks
  if (blocks.length === 1 && only?.type === 'text') return only.text
  return blocks.length === 0 ? null : blocks
}

function withImages(content: readonly Block[], result: unknown): object | undefined {
  const images = content.map(blockImage)
  if (!images.some(Boolean)) return undefined
  if (!Array.isArray(result)) {
    const text = JSON.stringify(result)
    return { type: 'content', value: [{ type: 'text', text }, ...images.filter((image) => image !== undefined)] }
  }
  const value = content.map((block, index) => {
    const text = block.type === 'text' ? String(block.text) : JSON.stringify(withoutBytes(block))
    return images[index] ?? { type: 'text', text }
  })
  return { type: 'content', value }
}

function blockImage({ data, mimeType, resource }: Block): object | undefined {
  const [base64, mediaType] = typeof data === 'string' ? [data, mimeType] : [resource?.blob, resource?.mimeType]
  if (typeof base64 !== 'string' || typeof mediaType !== 'string' || !mediaType.startsWith('image/')) return undefined
  return { type: 'image-data', mediaType, data: base64 }
}

function blocksText(blocks: readonly Block[], structured: unknown): string {
  const texts = blocks.map((block) => (block.type === 'text' ? String(block.text) : JSON.stringify(block)))
  return texts.join('\n') || (structured === undefined ? '' : JSON.stringify(structured))
}

function withoutBytes(block: Block): Block {
  const { data, resource } = block
  if (typeof data === 'string') return { ...block, data: bytesLeftOut(data) }
  if (typeof resource?.blob !== 'string') return block
  return { ...block, resource: { ...resource, blob: bytesLeftOut(resource.blob) } }
}

function bytesLeftOut(base64: string): string {
  return `(${Buffer.byteLength(base64, 'base64')} bytes, left out)`
}
