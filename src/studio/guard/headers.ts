// The security headers of every response: browsers load and run only the studio's own files, refuse to frame it, and
// don't cache it.
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

/** `cached` keeps the response's own cache-control, for files with a hash in their name. */
export function withGuardHeaders(response: Response, cached = false): Response {
  const headers = new Headers(response.headers)
  for (const [name, value] of Object.entries(always)) headers.set(name, value)
  // a proxy that compresses events would buffer them
  if (!cached) headers.set('cache-control', 'no-store, no-transform')
  const { status, statusText, body } = response
  return new Response(body, { status, statusText, headers })
}
