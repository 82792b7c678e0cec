// What every response says to a browser: nothing but the studio's own files is loaded or run, nobody shows it in a
// frame, and nothing of it is kept.
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "font-src 'self'",
  "connect-src 'self'",
  "manifest-src 'self'",
  "base-uri 'self'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

const always: { readonly [name: string]: string } = {
  'content-security-policy': policy,
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
}

/** `cached`: what the response says of that stays, for files whose names change with what is in them. */
export function withGuardHeaders(response: Response, cached = false): Response {
  const headers = new Headers(response.headers)
  for (const [name, value] of Object.entries(always)) headers.set(name, value)
  // a proxy that compresses events keeps them until there is enough to compress
  if (!cached) headers.set('cache-control', 'no-store, no-transform')
  const { status, statusText, body } = response
  return new Response(body, { status, statusText, headers })
}
