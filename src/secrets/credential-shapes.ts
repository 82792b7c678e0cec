// The shapes of credentials, as data, to find credentials that weren't registered. To recognise another one, add a
// line. `redact` replaces each match by `[redacted]`, except for the group `kept`, which shows what was there. Texts
// may come from hostile servers, so every pattern must run in linear time: where a pattern can start at many places,
// its repetitions are limited, or end at the next place where it could start.

/** Prefixes of well-known tokens, and how many characters follow at least: few enough to find partly masked tokens. */
const tokens: readonly (readonly [prefix: string, least: number])[] = [
  ['sk-', 6], // OpenAI, Anthropic (sk-ant-), OpenRouter, DeepSeek and many that copy them
  ['AIza', 10], // Google
  ['gsk_', 10], // Groq
  ['xai-', 20], // xAI
  ['pplx-', 20], // Perplexity
  ['nvapi-', 20], // NVIDIA
  ['hf_', 10], // Hugging Face
  ['r8_', 20], // Replicate
  ['tvly-', 10], // Tavily
  ['gh[pousr]_', 10], // GitHub
  ['github_pat_', 10], // GitHub, fine-grained
  ['gl(?:pat|ptt|dt|rt|cbt)-', 10], // GitLab
  ['xox[a-z]-', 8], // Slack
  ['xapp-', 10], // Slack apps
  ['npm_(?=[A-Za-z0-9*]{20})', 20], // npm; not its variables, such as npm_config_registry
  ['pypi-', 20], // PyPI
  ['[spr]k_(?:live|test)_', 8], // Stripe
  ['whsec_', 10], // Stripe webhooks
  ['dop_v1_', 10], // DigitalOcean
  ['lsv2_', 10], // LangSmith
  ['ya29\\.', 10], // Google, OAuth
]

/** Names whose value is a password, whatever it looks like. */
const password = '(?:pass(?:word|wd|phrase)|pwd)'
/** Names whose value is a credential if it is long enough. */
const named =
  '(?:(?<!unexpected )token|secret|credentials?|(?:api|access|account|private|secret|signing|shared|master)[-_ .]?key|_auth)'
/** Names whose value is a credential only in the query of an address. */
const inQuery = '(?:key|code|sig|signature|auth|session|sid)'
/** What comes between a name and its value. In JSON within JSON, quotes are escaped. */
const assigned = '(?: (?:provided|given|supplied|used|sent))?\\\\*["\']?\\s{0,9}[:=]\\s{0,9}'
/** Excludes words that follow a name without being a credential. */
const ordinary =
  '(?!(?:bearer|basic|empty|expected|expired|false|incorrect|invalid|malformed|missing|none|null|required|revoked|string|true|undefined|unknown|wrong)\\b|\\[redacted\\])'
const bare = '[^\\s"\'\\\\&;,<>()[\\]{}]'

export const shapes: readonly RegExp[] = [
  // a private key in PEM, even with escaped line breaks
  /-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----[\w+/=\s\\]{0,20000}(?:-----END [A-Z ]{0,30}PRIVATE KEY-----)?/g,
  // user name and password in a URL, up to the last @: passwords may contain / and @. A port isn't a password
  /(?<kept>:\/\/)(?:\[redacted\]|[^\s/?#@:"'<>[]{0,200}):(?!\d{1,5}(?:[/?#,;)\]}\s"'<>]|$))[^\s"'<>]{0,200}(?=@)/g,
  // a token in place of user name and password. In the URL of a database, this would be a user name
  /(?<!(?:postgres|postgresql|redis|rediss))(?<kept>:\/\/)(?=[^\s/?#@:]{0,200}\d)[^\s/?#@:"'<>[]{12,200}(?=@)/g,
  // the authorization header, with any scheme
  text(
    `(?<kept>authorization${assigned}\\\\*["']?(?:(?:bearer|basic|token|digest|apikey|key|bot|negotiate)\\s{1,9})?)${ordinary}${bare}{6,}`,
  ),
  // a scheme without the header, but not "basic questions" or "a bearer of news"
  /\b(?<kept>(?:[Bb]earer|BEARER|[Bb]asic|BASIC)\s{1,9})(?=[\w.~+/*=-]{0,200}(?:\d|[a-z][A-Z])|[\w.~+/*=-]{20})[\w.~+/*=-]{6,}/g,
  // cookies, up to the end of the line
  text(`(?<kept>\\b(?:set-)?cookie["']?\\s{0,9}:\\s{0,9}["']?)[^\\s"'=]{1,100}=[^\\r\\n"']{3,}`),
  // password="…": everything in the quotes
  text(`(?<kept>${password}${assigned}(?<quote>["']))${ordinary}(?:(?!\\k<quote>)[^\\\\]|\\\\.)+`),
  text(`(?<kept>${named}${assigned}(?<quote>["']))${ordinary}(?:(?!\\k<quote>)[^\\\\]|\\\\.){6,}`),
  // password=…, passwd: …
  text(`(?<kept>${password}${assigned}\\\\*["']?)${ordinary}${bare}+`),
  // api_key=…, client_secret=…, "token\\": \\"…
  text(
    `(?<kept>${named}(?: (?:provided|given|supplied|used|sent))?(?:\\\\*["']?\\s{0,9}=\\s{0,9}|\\\\*["']?:|\\\\+["']:\\s{0,9})\\\\*["']?)${ordinary}${bare}{6,}`,
  ),
  // token: …, if more than lower-case letters follow: not "the secret: practise"
  text(`(?<kept>${named}${assigned}["'\`]?)${ordinary}(?=[a-z]{0,200}[^a-z\\s.,;:!?"'()[\\]{}])${bare}{6,}`, 'gi'),
  // ?key=…&sig=…
  text(`(?<kept>[?&][\\w.-]{0,40}?${inQuery}=)${ordinary}[^\\s&#"'<>\\\\]{6,}`),
  // AWS access key ids
  /(?<![A-Za-z0-9])(?:AKIA|ASIA)[A-Z0-9*]{12,}/g,
  // JWT
  /(?<![\w-])eyJ[\w-]{8,}(?:\.[\w-]+){1,4}/g,
  ...tokens.map(([prefix, least]) => new RegExp(tokenPattern(prefix, least), 'g')),
]

const anyToken = new RegExp(`^(?:${tokens.map(([prefix]) => prefix).join('|')}|AKIA|ASIA|eyJ|Bearer |Basic )`)

/** Whether a value has the prefix of a well-known token. */
export function isToken(value: string): boolean {
  return anyToken.test(value)
}

/** Whether the name of a header, variable, option or query parameter suggests that its value is a credential. */
export function isCredentialName(name: string): boolean {
  return /key|token|secret|pass|pwd|auth|cred|cookie|bearer|private|signature|session|^sig$|^code$|(^|_)pat$/i.test(
    name,
  )
}

function text(pattern: string, flags = 'gi'): RegExp {
  return new RegExp(pattern, flags)
}

/** Also matches partly masked keys: sk-proj-ab****9f3c, sk-proj-ab…9f3c, sk-proj-ab...9f3c. */
function tokenPattern(prefix: string, least: number): string {
  return `(?<![A-Za-z0-9])${prefix}(?:[\\w*…•-]|\\.{3}){${least},}`
}
