// Renders model output as Markdown. It is parsed into our own elements and never used as HTML, so that nothing in it
// can run, load anything or imitate the page. Links show their target and use only http(s); images stay text.
import type { ComponentChildren, JSX } from 'preact'
import { useState } from 'preact/hooks'
import { parseBlocks, parseSpans, type Block, type Span } from './markdown-blocks.ts'

/** How many characters are rendered at first. */
const renderLimit = 20_000

export function Markdown({ text }: { readonly text: string }): JSX.Element {
  const [whole, setWhole] = useState(false)
  const isCut = !whole && text.length > renderLimit
  return (
    <div class="markdown">
      {parseBlocks(isCut ? text.slice(0, renderLimit) : text).map(blockElement)}
      {isCut && (
        <button type="button" class="quiet" onClick={() => setWhole(true)}>
          Show {text.length - renderLimit} more characters
        </button>
      )}
    </div>
  )
}

function blockElement(block: Block, index: number): JSX.Element {
  switch (block.type) {
    case 'heading':
      // not a heading element: the outline belongs to the page
      return (
        <p key={index} class={`heading level-${Math.min(block.level, 4)}`}>
          {spans(block.text)}
        </p>
      )
    case 'code':
      return (
        <pre key={index} tabIndex={0}>
          <code>{block.text}</code>
        </pre>
      )
    case 'quote':
      return <blockquote key={index}>{block.blocks.map(blockElement)}</blockquote>
    case 'list': {
      const items = block.items.map((item, at) => <li key={at}>{item.map(blockElement)}</li>)
      return block.ordered ? (
        <ol key={index} start={block.start}>
          {items}
        </ol>
      ) : (
        <ul key={index}>{items}</ul>
      )
    }
    case 'table':
      return (
        <div key={index} class="table-scroll" tabIndex={0} role="group" aria-label="Table">
          <table>
            <thead>
              <tr>
                {block.head.map((cell, at) => (
                  <th key={at}>{spans(cell)}</th>
                ))}
              </tr>
            </thead>
            <tbody>
              {block.rows.map((row, at) => (
                <tr key={at}>
                  {row.map((cell, column) => (
                    <td key={column}>{spans(cell)}</td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )
    case 'rule':
      return <hr key={index} />
    case 'paragraph':
      return <p key={index}>{spans(block.text)}</p>
  }
}

function spans(text: string): ComponentChildren {
  return parseSpans(text).map(spanElement)
}

function spanElement(span: Span, index: number): ComponentChildren {
  switch (span.type) {
    case 'text':
      return span.text
    case 'code':
      return <code key={index}>{span.text}</code>
    case 'strong':
      return <strong key={index}>{span.spans.map(spanElement)}</strong>
    case 'emphasis':
      return <em key={index}>{span.spans.map(spanElement)}</em>
    case 'break':
      return <br key={index} />
    case 'link':
      return (
        <a key={index} href={span.url} title={span.url} target="_blank" rel="noopener noreferrer nofollow">
          {span.text}
        </a>
      )
  }
}
