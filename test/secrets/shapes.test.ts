// Text that looks like a credential is redacted from errors even if the credential is unknown; other text is unchanged.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { redact } from '../../src/secrets/redact.ts'
import { environmentOf } from '../models/support.ts'

const letters = 'aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0eF3hI6'

test('well-known tokens are redacted, alone and within a text', () => {
  using _ = environmentOf({})
  const tokens = [
    `ghp_${letters}`,
    `gho_${letters}`,
    `github_pat_11ABCDEFG0${letters}_${letters}`,
    'AKIAIOSFODNN7EXAMPLE',
    'ASIAIOSFODNN7EXAMPLE',
    `eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.${letters}`,
    `xoxb-123456789012-${letters}`,
    `xoxa-2-${letters}`,
    `xoxp-${letters}`,
    `gsk_${letters}`,
    `sk-${letters}`,
    `sk-ant-api03-${letters}`,
    `sk-proj-${letters}`,
    `AIzaSy${letters}`,
    `hf_${letters}`,
    `glpat-${letters.slice(0, 20)}`,
    `npm_${letters}`,
    `sk_live_${letters}`,
    `sk-proj-ab****9f3c`,
    `sk-proj-ab…9f3c`,
    `ghp_abcd...9f3cxyz`,
  ]
  for (const token of tokens) {
    for (const around of ['*', 'bad token *, sorry', '{"a":"*"}', 'x=*&y=1', '(*)', 'https://host/v1/*/x']) {
      const [before = '', after = ''] = around.split('*')
      const clean = redact(`${before}${token}${after}`)
      assert.ok(clean.startsWith(before) && clean.includes('[redacted]'), `${around}: ${clean}`)
      assert.ok(!clean.includes(token.slice(-6)), `${around}: ${clean}`)
      assert.ok(!clean.includes(token.slice(4, 12)), `${around}: ${clean}`)
    }
  }
})

test('a value named as a credential is redacted, and its name kept', () => {
  using _ = environmentOf({})
  const cases: [string, string][] = [
    ['Authorization: Bearer abc.def-123', 'Authorization: Bearer [redacted]'],
    ['{"authorization":"Token abcdefgh"}', '{"authorization":"Token [redacted]"}'],
    ['got bearer dGVzdDp0ZXN0', 'got bearer [redacted]'],
    ['password=hunter2', 'password=[redacted]'],
    ['passwd: hunter', 'passwd: [redacted]'],
    ['{"password":"two words, and \\"more\\"","user":"ada"}', '{"password":"[redacted]","user":"ada"}'],
    ['"{\\"password\\":\\"geheim1\\",\\"user\\":1}"', '"{\\"password\\":\\"[redacted]\\",\\"user\\":1}"'],
    ['Server=db;User Id=sa;Password=p@ss/w:rd!;Database=x', 'Server=db;User Id=sa;Password=[redacted];Database=x'],
    ['AccountName=a;AccountKey=abc+/def==;Suffix=net', 'AccountName=a;AccountKey=[redacted];Suffix=net'],
    ['host=db user=ada password=s3cr3t dbname=x', 'host=db user=ada password=[redacted] dbname=x'],
    ['api_key=abcdef&x=1', 'api_key=[redacted]&x=1'],
    ['OPENAI_API_KEY=abcdefgh', 'OPENAI_API_KEY=[redacted]'],
    ['token=abcdefgh', 'token=[redacted]'],
    ['client_secret=abcdefgh', 'client_secret=[redacted]'],
    ["secret: 'abcdefgh'", "secret: '[redacted]'"],
    ['token: abc12345', 'token: [redacted]'],
    ['Incorrect API key provided: abcd1234wxyz. Find yours', 'Incorrect API key provided: [redacted] Find yours'],
    ['https://host/v1?key=geheim77/chat', 'https://host/v1?key=[redacted]'],
    ['https://host/blob?sv=2024&sig=a%2Fb%3D77&se=9', 'https://host/blob?sv=2024&sig=[redacted]&se=9'],
    ['Set-Cookie: sid=abc123; Path=/\nNext: 1', 'Set-Cookie: [redacted]\nNext: 1'],
    ['//registry/:_authToken=abcdef123', '//registry/:_authToken=[redacted]'],
    ['-----BEGIN RSA PRIVATE KEY-----\nMIIE+/=\n-----END RSA PRIVATE KEY-----!', '[redacted]!'],
  ]
  for (const [dirty, clean] of cases) assert.equal(redact(dirty), clean)
})

test('a password in an address is redacted, even with / and @ in it', () => {
  using _ = environmentOf({})
  const cases: [string, string][] = [
    ['at postgres://user:p/a@ss@host/db now', 'at postgres://[redacted]@host/db now'],
    ['redis://:geheim@127.0.0.1:6379/0', 'redis://[redacted]@127.0.0.1:6379/0'],
    ['"mongodb+srv://u:p?a#b@host/x","b":"c@d"', '"mongodb+srv://[redacted]@host/x","b":"c@d"'],
    ['http://ada:1234@host/', 'http://[redacted]@host/'],
    ['https://0123456789abcdef@o1.sentry.io/2', 'https://[redacted]@o1.sentry.io/2'],
  ]
  for (const [dirty, clean] of cases) assert.equal(redact(dirty), clean)
})

const plain = [
  'the task-runner asked for a bearer of news, at six',
  'basic authentication is required; Basic questions come first',
  'Unexpected token < in JSON at position 0',
  'Unexpected token: IDENTIFIER',
  'token: invalid',
  'password=required',
  '{"password":"missing"}',
  'api_key=undefined',
  'total_tokens: 123456, max_tokens=4096, "completion_tokens":1234567',
  'the secret: practise every day',
  'https://registry.npmjs.org/@scope/name and https://host:8080/@scope/name, ada@example.com',
  'http://localhost:3000,ada@example.com http://[::1]:8080/a@b',
  'ssh://git@github.com/x/y.git',
  'https://host/search?q=typescript&code=404&keyword=something',
  '0193b7e4-7d1c-7f7e-8a52-0b6ad4a7a4a4 and 00000000-0000-0000-0000-000000000000',
  'sha512-z4PhNX7vuL3xVChQ1m2AB9Yg5AULVxXcg/SpIdNs6c5H0NE8XYXysP+DGNKHfuwvY7kxvUdBeoGlODJ6+SfaPg==',
  'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'eyJhIjoxLCJiIjoyLCJjIjozfQ== is JSON in base64',
  'npm_config_registry and npm_lifecycle_event; ASIA-PACIFIC-REGION-1234',
  'at Object.<anonymous> (file:///home/ada/project/node_modules/x/dist/index.js:11210:38)',
  'run 2026-01-31-brave-otter cannot be found; continue with: npx reprise resume r42',
]

test('ordinary texts, hashes, ids, addresses and files in base64 are unchanged', () => {
  using _ = environmentOf({ OPENAI_API_KEY: `sk-proj-${letters}` })
  for (const text of plain) assert.equal(redact(text), text)
})

test('a redacted text is unchanged by another pass', () => {
  using _ = environmentOf({ OPENAI_API_KEY: 'my-own-key-4711' })
  const dirty = `password=x1 token: abc12345 postgres://u:p/q@h/d Bearer abc12345 my-own-key-4711 https://my-own-key-4711:x@h/?key=my-own-key-4711`
  assert.equal(redact(redact(dirty)), redact(dirty))
})
