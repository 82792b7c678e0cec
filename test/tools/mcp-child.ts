// A process with a crew that calls a once tool of an MCP server over stdio. It never closes the server. What to do
// comes first on the command line: `call` a tool that never ends, answer what is in `doubt`, `idle` until it is ended,
// or `end` at once.
import { Agent, Crew, Task } from 'reprise'
import { mcpTools } from 'reprise/mcp'
import { scriptedModel } from 'reprise/testing'
import type { StdioServer } from '../../src/tools/mcp/mcp-server.ts'

const [what, folder = '', server = ''] = process.argv.slice(2)
const mcp = await mcpTools(JSON.parse(server) as StdioServer)
const model = scriptedModel([
  { when: 'Do it', calls: [{ tool: 'wait', input: {} }] },
  { when: 'Do it', reply: (conversation) => `done: ${conversation.includes('it rang')}` },
])
const agent = new Agent({ role: 'Worker', goal: 'Do the job', model, tools: mcp.tools })
const job = new Task({ name: 'job', description: 'Do it', agent })
const crew = new Crew({ name: 'killed', tasks: [job], store: `sqlite:${folder}/runs.db` })
if (what === 'call') await crew.kickoff({ id: 'r' })
if (what === 'doubt') {
  const first = await crew.resume('r')
  const [question] = first.questions
  console.log(first.status, question?.kind)
  await crew.run('r').answer(question?.id ?? '', { decision: 'happened', result: 'it rang' })
  const second = await crew.resume('r')
  console.log(second.status, second.raw)
}
console.log('ready')
if (what === 'idle') setInterval(() => {}, 1000)
