// Messages to and from a model, as a conversation.
import type { ComponentChildren, JSX } from 'preact'
import type { ChatMessage, ReplyPart, ToolOutcome } from '../../../journal/entries.ts'
import { plural } from '../../../text/words.ts'
import { Icon } from '../parts/icons.tsx'
import { JsonTree } from '../parts/json-tree.tsx'
import { OutputView, ValueView } from '../parts/output-view.tsx'
import { Foldable } from '../parts/states.tsx'

/** How many of the latest messages of a long conversation are shown, besides the first message. */
const shownLatest = 30

export function Messages({ messages }: { readonly messages: readonly ChatMessage[] }): JSX.Element {
  const first = messages.slice(0, 1)
  const rest = messages.slice(1)
  const hidden = Math.max(0, rest.length - shownLatest)
  return (
    <ol class="messages">
      {first.map((message) => (
        <Message key="first" message={message} />
      ))}
      {hidden > 0 && <li class="faint">… {plural(hidden, 'message')} …</li>}
      {rest.slice(hidden).map((message, index) => (
        <Message key={index} message={message} />
      ))}
    </ol>
  )
}

function Message({ message }: { readonly message: ChatMessage }): JSX.Element {
  switch (message.role) {
    case 'user':
      return (
        <MessageBox by="Prompt" tone="user">
          <OutputView raw={message.text} />
          {message.files?.map((file) => (
            <p key={file.hash} class="soft">
              {file.name} ({file.mediaType}, {file.bytes} bytes)
            </p>
          ))}
        </MessageBox>
      )
    case 'assistant':
      return (
        <MessageBox by="Model" tone="model">
          <Parts parts={message.parts} />
        </MessageBox>
      )
    case 'tool':
      return (
        <>
          {message.results.map((result) => (
            <MessageBox key={result.id} by={result.tool} tone="tool">
              <Outcome outcome={result.outcome} />
            </MessageBox>
          ))}
        </>
      )
  }
}

interface MessageBoxProps {
  readonly by: string
  readonly tone: string
  readonly children: ComponentChildren
}

function MessageBox({ by, tone, children }: MessageBoxProps): JSX.Element {
  return (
    <li class={`message is-${tone}`}>
      <p class="message-by">{by}</p>
      {children}
    </li>
  )
}

export function Parts({ parts }: { readonly parts: readonly ReplyPart[] }): JSX.Element {
  return (
    <div class="parts">
      {parts.map((part, index) => (
        <Part key={index} part={part} />
      ))}
      {parts.length === 0 && <p class="faint">Empty reply.</p>}
    </div>
  )
}

function Part({ part }: { readonly part: ReplyPart }): JSX.Element | null {
  switch (part.type) {
    case 'text':
      return part.text === '' ? null : <OutputView raw={part.text} />
    case 'reasoning':
      return part.text === '' ? null : (
        <Foldable title="Reasoning">
          <p class="soft prose">{part.text}</p>
        </Foldable>
      )
    case 'call':
    case 'provider-call':
      return (
        <div class="part-call">
          <p>
            <Icon name="tool" size={14} /> <code>{part.tool}</code>
            {part.type === 'call' && part.invalid !== undefined && <span class="problem"> {part.invalid}</span>}
          </p>
          <JsonTree value={part.input} />
        </div>
      )
    case 'provider-result':
      return (
        <div class="part-call">
          <p>
            Result of <code>{part.tool}</code>
          </p>
          <ValueView value={part.result} />
        </div>
      )
    case 'source':
      return <p class="faint">{part.title ?? part.url ?? part.filename}</p>
    case 'file':
      return <p class="faint">File, {part.mediaType}</p>
    case 'custom':
      return null
  }
}

export function Outcome({ outcome }: { readonly outcome: ToolOutcome }): JSX.Element {
  if ('result' in outcome) return <ValueView value={outcome.result} />
  if ('error' in outcome) return <p class="problem">Failed: {outcome.error}</p>
  if ('denied' in outcome) return <p class="problem">Denied: {outcome.denied}</p>
  return <p class="soft">The call was made, but its result can’t be read: {outcome.unreadable}</p>
}
