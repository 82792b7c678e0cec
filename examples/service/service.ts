// The service as one function from Request to Response, which fits node:http (server.ts), Hono, a Next route handler,
// Deno and Bun. No request waits for a crew: it starts or continues a run, whose state other requests read by its id.
import { RepriseError, type Run } from 'reprise'
import { z } from 'zod'
import { crew } from './crew.ts'

const newClaim = z.object({ id: z.string(), notes: z.string() })
const answerTo = z.object({
  question: z.string(),
  answer: z.discriminatedUnion('decision', [
    z.object({ decision: z.literal('approve') }),
    z.object({ decision: z.literal('revise'), feedback: z.string() }),
    z.object({ decision: z.literal('fail'), reason: z.string() }),
  ]),
  by: z.string(),
})

export async function handle(request: Request): Promise<Response> {
  try {
    const [, what = '', id = '', of = ''] = new URL(request.url).pathname.split('/').map(decodeURIComponent)
    if (stopping && request.method === 'POST') return Response.json({ message: 'stopping' }, { status: 503 })
    switch (`${request.method} /${[what, id && ':id', of].filter(Boolean).join('/')}`) {
      case 'POST /runs':
        return await start(newClaim.parse(await request.json()))
      case 'POST /runs/:id/answers':
        return await answer(id, answerTo.parse(await request.json()))
      case 'GET /runs/:id':
        return await viewRun(id)
      case 'GET /runs/:id/events':
        return await crew.run(id).toResponse(request)
      case 'GET /health':
        return await health()
      default:
        return Response.json({ message: 'not found' }, { status: 404 })
    }
  } catch (error) {
    return refusal(error)
  }
}

/** The client chooses the id, so that a repeated request starts no second run. */
async function start({ id, notes }: z.infer<typeof newClaim>): Promise<Response> {
  await begin(crew.kickoff({ id, inputs: { notes }, whenHeld: 'follow' }))
  return Response.json({ id }, { status: 202, headers: { location: `/runs/${encodeURIComponent(id)}` } })
}

async function answer(id: string, given: z.infer<typeof answerTo>): Promise<Response> {
  await crew.run(id).answer(given.question, given.answer, { by: given.by })
  await begin(crew.run(id).resume({ whenHeld: 'follow' }))
  return Response.json({ id }, { status: 202 })
}

async function viewRun(id: string): Promise<Response> {
  const { why, raw, tasks, questions, ...run } = await crew.run(id).view()
  return Response.json({
    id,
    status: run.status,
    why,
    result: raw,
    error: run.error?.message,
    tasks: tasks.map((task) => ({ name: task.name, status: task.status })),
    // with everything that a person needs to decide
    questions,
  })
}

async function health(): Promise<Response> {
  if (stopping) return Response.json({ ok: false, why: 'stopping' }, { status: 503 })
  await crew.runs().page(1) // the store answers
  return Response.json({ ok: true })
}

let stopping = false
const underWay = new Set<Promise<void>>()

/** Waits until the run is stored, not until it ends. */
async function begin(call: { readonly started: Promise<Run> }): Promise<void> {
  const run = await call.started
  track(run.result().then(({ runId, status: is }) => console.log(`run ${runId}: ${is}`)))
}

/** Logs a failure, which is also in the run's journal. */
function track(work: Promise<void>): void {
  const ended = work.catch((error: unknown) => console.error(String(error))).finally(() => underWay.delete(ended))
  underWay.add(ended)
}

/** Called at the start: continues the runs that the previous process left unfinished. */
export function resumeAll(): void {
  track(crew.resumeAll().then((runs) => runs.forEach((run) => console.log(`run ${run.runId}, resumed: ${run.status}`))))
}

/** Accepts no new work, and resolves when no run is in progress here. */
export async function finish(): Promise<void> {
  stopping = true
  while (underWay.size > 0) await Promise.all(underWay)
}

const statuses: { readonly [code in RepriseError['code']]?: number } = {
  RUN_NOT_FOUND: 404,
  QUESTION_NOT_FOUND: 404,
  QUESTION_ANSWERED: 409,
  INPUTS_DIFFER: 409,
  RUN_ENDED: 409,
  RUN_CANCELLED: 409,
  ANSWER_INVALID: 400,
  OPTION_INVALID: 400,
  STORE_FAILED: 503,
  STORE_UNAVAILABLE: 503,
}

function refusal(error: unknown): Response {
  if (error instanceof z.ZodError) return Response.json({ message: z.prettifyError(error) }, { status: 400 })
  if (error instanceof SyntaxError || error instanceof URIError)
    return Response.json({ message: error.message }, { status: 400 })
  const known = RepriseError.isInstance(error) ? statuses[error.code] : undefined
  if (known !== undefined) {
    const { code, message } = error as RepriseError
    return Response.json({ code, message }, { status: known })
  }
  console.error(error)
  return Response.json({ message: 'something went wrong' }, { status: 500 })
}
