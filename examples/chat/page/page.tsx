// The page of the chat: `useChat` of the AI SDK, and a component for each part of a message. It imports only types of
// Reprise.
import { useChat } from '@ai-sdk/react'
import {
  DefaultChatTransport,
  getToolName,
  isToolUIPart,
  lastAssistantMessageIsCompleteWithApprovalResponses,
  type ToolUIPart,
} from 'ai'
import { useState } from 'react'
import { createRoot } from 'react-dom/client'
import type { QuestionData, RunUIMessage, TaskData } from 'reprise/ui'

type Part = RunUIMessage['parts'][number]

function Page({ id, initialMessages }: { readonly id: string; readonly initialMessages: RunUIMessage[] }) {
  const [notes, setNotes] = useState('Policy P-77, a pipe burst and there is water in the cellar.')
  const { messages, sendMessage, addToolApprovalResponse, status, error } = useChat<RunUIMessage>({
    id,
    messages: initialMessages,
    resume: initialMessages.length > 0, // a reloaded page follows the run again
    transport: new DefaultChatTransport({ api: '/api/chat' }),
    sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses,
  })
  const run = messages.at(-1)?.metadata
  const idle = status === 'ready' || status === 'error'
  const show = (part: Part, index: number) => {
    if (part.type === 'text')
      return (
        <p key={index} className="text">
          {part.text}
        </p>
      )
    if (part.type === 'data-task') return <Task key={index} task={part.data} />
    if (part.type === 'data-question')
      return (
        <Question
          key={index}
          question={part.data}
          run={() =>
            void sendMessage(undefined, {
              body: { answers: [{ question: part.data.id, answer: { decision: 'run' } }] },
            })
          }
        />
      )
    if (isToolUIPart(part))
      return (
        <Tool
          key={index}
          part={part as ToolUIPart}
          decide={(question, approved) => void addToolApprovalResponse({ id: question, approved })}
        />
      )
    return undefined
  }
  return (
    <>
      <header>
        <h1>Claims</h1>
        <span className="status" data-testid="status">
          {run ? `${run.done} of ${run.total} tasks done, ${run.status}` : status}
        </span>
      </header>
      {messages.map((message) => (
        <div key={message.id} className={message.role} data-testid={message.role}>
          {message.parts.map(show)}
        </div>
      ))}
      {error && <p className="error">{error.message}</p>}
      {messages.length === 0 ? (
        <form
          onSubmit={(event) => {
            event.preventDefault()
            void sendMessage({ text: notes })
          }}
        >
          <input value={notes} onChange={(event) => setNotes(event.target.value)} aria-label="What happened?" />
          <button className="main" disabled={!idle}>
            Report
          </button>
        </form>
      ) : (
        run?.status === 'completed' && <button onClick={() => location.assign('/')}>Report another claim</button>
      )}
    </>
  )
}

function Task({ task: { name, status, error } }: { readonly task: TaskData }) {
  return (
    <div className="task" data-testid={`task-${name}`}>
      {name} <span className={`badge ${status}`}>{status === 'executed' ? 'done' : status}</span>
      {error && <span className="error">{error}</span>}
    </div>
  )
}

const stateWords: { readonly [state: string]: string } = {
  'input-available': 'at work',
  'approval-requested': 'waits for you',
  'approval-responded': 'answered',
  'output-available': 'done',
  'output-error': 'failed',
  'output-denied': 'denied',
}

function Tool({
  part,
  decide,
}: {
  readonly part: ToolUIPart
  readonly decide: (question: string, approved: boolean) => void
}) {
  const asks = part.state === 'approval-requested'
  return (
    <div className={asks ? 'tool asks' : 'tool'} data-testid={`tool-${getToolName(part)}`}>
      <strong>{getToolName(part)}</strong> <span className="badge">{stateWords[part.state] ?? part.state}</span>
      <br />
      <code>{JSON.stringify(part.input)}</code>
      {part.state === 'output-available' && (
        <>
          <br />
          <code>→ {JSON.stringify(part.output)}</code>
        </>
      )}
      {asks && (
        <div className="actions">
          <button className="main" onClick={() => decide(part.approval.id, true)}>
            Approve
          </button>
          <button onClick={() => decide(part.approval.id, false)}>Deny</button>
        </div>
      )}
    </div>
  )
}

/** Tool approvals are shown with their tools. This is the other question: whether a call happened. */
function Question({ question, run }: { readonly question: QuestionData; readonly run: () => void }) {
  if (question.kind === 'call' || question.status !== 'open') return undefined
  return (
    <div className="question">
      {question.text}
      <div className="actions">
        <button className="main" onClick={run}>
          It did not happen: call it
        </button>
      </div>
    </div>
  )
}

/** The id of the chat is in the URL, so that a reloaded page shows the same chat. */
function chatId(): string {
  const address = new URL(location.href)
  const known = address.searchParams.get('chat')
  if (known !== null) return known
  const id = crypto.randomUUID()
  address.searchParams.set('chat', id)
  history.replaceState(undefined, '', address)
  return id
}

const id = chatId()
const response = await fetch(`/api/chat/${encodeURIComponent(id)}`)
const initialMessages = response.status === 200 ? ((await response.json()) as RunUIMessage[]) : []
createRoot(document.querySelector('#page') as Element).render(<Page id={id} initialMessages={initialMessages} />)
