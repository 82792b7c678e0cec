// Calls the studio's API, typed by its contract. Error responses are thrown as `ApiError` with the server's message; an
// unreachable server has the code `UNREACHABLE`.
import type { Endpoint, Endpoints, Problem } from '../../api/contract.ts'

export class ApiError extends Error {
  readonly code: string
  readonly status: number

  constructor(status: number, { code, message }: Pick<Problem, 'code' | 'message'>) {
    super(message)
    this.code = code
    this.status = status
  }
}

let handleLocked = (): void => {}

/** Sets the function to call when the server requires a token that this browser doesn't have. */
export function onLocked(callback: () => void): void {
  handleLocked = callback
}

/** Call it with every response, except when the user submits a token. */
export function checkLocked({ status }: Response): void {
  if (status === 401) handleLocked()
}

type Part<E extends Endpoint, K extends string> = Endpoints[E] extends { readonly [P in K]: infer Value }
  ? Value
  : undefined

interface Call<E extends Endpoint> {
  /** Parameters of the path. */
  readonly params?: { readonly [name: string]: string }
  readonly query?: Part<E, 'query'>
  readonly body?: Part<E, 'body'>
  readonly signal?: AbortSignal
  /** Lets the request outlive the page. Its body is limited to 64 KiB then. */
  readonly keepalive?: boolean
}

export async function call<E extends Endpoint>(endpoint: E, options: Call<E> = {}): Promise<Part<E, 'response'>> {
  const [method, path] = endpoint.split(' ') as [string, string]
  const { body, signal, keepalive = false } = options
  const request: RequestInit = {
    method,
    headers: { accept: 'application/json', ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    ...(signal ? { signal } : {}),
    keepalive,
  }
  const response = await reach(apiUrl(path, options), request)
  if (path !== '/session') checkLocked(response)
  if (!response.ok) throw new ApiError(response.status, await readProblem(response))
  return (await response.json()) as Part<E, 'response'>
}

export async function reach(url: URL, request: RequestInit): Promise<Response> {
  try {
    return await fetch(url, request)
  } catch (error) {
    if (error instanceof DOMException && error.name === 'AbortError') throw error
    const message = 'can’t reach the studio’s server; check that it is still running'
    throw new ApiError(0, { code: 'UNREACHABLE', message })
  }
}

export function apiUrl(
  path: string,
  { params = {}, query = {} }: { readonly params?: { readonly [name: string]: string }; readonly query?: unknown },
): URL {
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(params[name] ?? ''))
  const url = new URL(`api${filled}`, document.baseURI)
  for (const [name, value] of Object.entries(query as { [name: string]: string | number | undefined }))
    if (value !== undefined && value !== '') url.searchParams.set(name, String(value))
  return url
}

async function readProblem(response: Response): Promise<Pick<Problem, 'code' | 'message'>> {
  try {
    const { code, message } = (await response.json()) as Partial<Problem>
    if (typeof code === 'string' && typeof message === 'string') return { code, message }
  } catch {
    // a proxy may respond with anything
  }
  return { code: 'UNEXPECTED', message: `the server responded with ${response.status} ${response.statusText}` }
}
