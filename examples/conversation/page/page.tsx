// The page of the conversation: `useChat` of the AI SDK. It imports only types of Reprise.
import { useChat } from '@ai-sdk/react'
import { DefaultChatTransport } from 'ai'
import { useState } from 'react'
import { createRoot } from 'react-dom/client'
import type { RunUIMessage } from 'reprise/ui'

function Page({ id, initialMessages }: { readonly id: string; readonly initialMessages: RunUIMessage[] }) {
  const [text, setText] = useState('')
  const { messages, sendMessage, status, error } = useChat<RunUIMessage>({
    id,
    messages: initialMessages,
    resume: true, // a reloaded page follows the turn in progress
    transport: new DefaultChatTransport({ api: '/api/chat' }),
  })
  const idle = status === 'ready' || status === 'error'
  return (
    <>
      {messages.map((message) => (
        <div key={message.id} className={message.role}>
          {message.parts.map((part, index) => (part.type === 'text' ? <p key={index}>{part.text}</p> : undefined))}
        </div>
      ))}
      {error && <p className="error">{error.message}</p>}
      <form
        onSubmit={(event) => {
          event.preventDefault()
          void sendMessage({ text })
          setText('')
        }}
      >
        <input value={text} onChange={(event) => setText(event.target.value)} aria-label="Message" />
        <button disabled={!idle}>Send</button>
        <button type="button" disabled={idle} onClick={() => void fetch(`/api/chat/${id}/stop`, { method: 'POST' })}>
          Stop
        </button>
      </form>
    </>
  )
}

/** The id of the conversation is in the URL, so that a reloaded page shows the same one. */
function conversationId(): string {
  const address = new URL(location.href)
  const known = address.searchParams.get('chat')
  if (known !== null) return known
  const id = crypto.randomUUID()
  address.searchParams.set('chat', id)
  history.replaceState(undefined, '', address)
  return id
}

const id = conversationId()
const response = await fetch(`/api/chat/${encodeURIComponent(id)}`)
const initialMessages = (await response.json()) as RunUIMessage[]
createRoot(document.querySelector('#page') as Element).render(<Page id={id} initialMessages={initialMessages} />)
