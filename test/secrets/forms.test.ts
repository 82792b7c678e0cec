// A known credential is found in every form in which a server may repeat it.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { remember } from '../../src/secrets/known.ts'
import { redact } from '../../src/secrets/redact.ts'
import { environmentOf } from '../models/support.ts'

// of no well-known shape
const key = 'Kq7/vX2+pL9zRt4wBn8sYd3mHc6=fJ1g'

/** No five characters of the key, however they are written, are left. */
function assertClean(dirty: string, forms: readonly string[] = [key]): void {
  const clean = redact(dirty)
  for (const form of forms) {
    for (let at = 0; at + 5 <= form.length; at++) {
      assert.ok(!clean.includes(form.slice(at, at + 5)), `${form.slice(at, at + 5)} of ${form} is in ${clean}`)
    }
  }
  assert.match(clean, /\[redacted\]/)
}

const base64 = (text: string) => Buffer.from(text).toString('base64')

test('a known key is found in base64, hexadecimal, URL encoding, JSON and backwards', () => {
  using _ = environmentOf({ OPENAI_API_KEY: key })
  const hex = Buffer.from(key).toString('hex')
  const backwards = key.split('').toReversed().join('')
  for (const form of [
    key,
    encodeURIComponent(key),
    encodeURIComponent(key).replaceAll(/%../g, (code) => code.toLowerCase()),
    base64(key),
    Buffer.from(key).toString('base64url'),
    hex,
    hex.toUpperCase(),
    hex.replaceAll(/../g, '%$&'),
    backwards,
  ]) {
    assertClean(`the server said ${form} was wrong`, [form])
    assertClean(`{"error":"${form}"}`, [form])
  }
})

test('a known key is found within something longer in base64', () => {
  using _ = environmentOf({ OPENAI_API_KEY: key })
  for (const before of ['', 'a', 'ab', 'Bearer ', '{"key":"']) {
    for (const after of ['', 'x', 'xy', '"}']) {
      // the ends share characters with what stands around them
      const inner = base64(before + key + after).slice(Math.ceil((before.length * 8) / 6) + 1, -6)
      assertClean(`got ${base64(before + key + after)}`, [inner.slice(0, 38)])
    }
  }
})

test('pieces of a known key of twelve characters and more are found', () => {
  using _ = environmentOf({ OPENAI_API_KEY: key })
  assertClean(`began with ${key.slice(0, 12)} it seems`)
  assertClean(`ended with ${key.slice(-12)}`)
  assertClean(`["${key.slice(0, 16)}","${key.slice(16)}"]`)
  assertClean(`data: ${key.slice(0, 18)}\ndata: ${key.slice(18)}\n`)
  const coded = base64(key)
  assertClean(`${coded.slice(0, 20)}\r\n${coded.slice(20)}`, [coded])
})

test('a known key that is masked in the middle is found', () => {
  using _ = environmentOf({ OPENAI_API_KEY: key })
  for (const mask of ['…', '...', '****', '••••']) {
    assert.equal(redact(`key Kq7/v${mask}fJ1g is wrong`), 'key [redacted] is wrong')
    assert.equal(redact(`key ${mask}fJ1g is wrong`), 'key [redacted] is wrong')
  }
  assert.equal(redact('wait... what? And so on…'), 'wait... what? And so on…')
})

test('the words of a key made of words, and numbers like a simple key, are left alone', () => {
  using _ = environmentOf({ OPENAI_API_KEY: 'my-development-key-for-tests', GEMINI_API_KEY: '0000000000000000' })
  assert.equal(redact('a development-key-for-tests is there'), 'a development-key-for-tests is there')
  const id = '00000000-0000-0000-0000-000000000000'
  assert.equal(redact(id), id)
  assert.equal(redact('my-development-key-for-tests'), '[redacted]')
})

test('the credentials in the addresses of the environment are known', () => {
  for (const [variable, address, secret] of [
    ['OPENAI_BASE_URL', 'https://host/v1?key=SeCrEtWoRd', 'SeCrEtWoRd'],
    ['OPENAI_BASE_URL', 'https://host/v1?code=SeCrEtWoRd&api-version=2024-10-21', 'SeCrEtWoRd'],
    ['OLLAMA_BASE_URL', 'http://ada:SeCrEtWoRd@host/v1', 'SeCrEtWoRd'],
    ['ANTHROPIC_BASE_URL', 'https://host/a1b2c3d4e5f6a7b8c9/v1', 'a1b2c3d4e5f6a7b8c9'],
    ['REPRISE_STORE', 'postgres://user:Se/Cr@Et@host/db', 'Se/Cr@Et'],
  ] as const) {
    using _ = environmentOf({ [variable]: address })
    assert.equal(redact(`it said ${secret}, at 2024-10-21`), 'it said [redacted], at 2024-10-21', address)
  }
})

test('the keys of other providers and services in the environment are known', () => {
  const before = process.env['GROQ_API_KEY']
  process.env['GROQ_API_KEY'] = 'no-known-shape-4711'
  try {
    assert.equal(redact('bad no-known-shape-4711'), 'bad [redacted]')
  } finally {
    if (before === undefined) delete process.env['GROQ_API_KEY']
    else process.env['GROQ_API_KEY'] = before
  }
})

test('the newest hundred added secrets are remembered, and no short words', () => {
  using _ = environmentOf({})
  remember(['given-in-code-4711', 'word'])
  assert.equal(redact('given-in-code-4711 and word'), '[redacted] and word')
  remember(Array.from({ length: 100 }, (_value, index) => `rotated-token-${index}-x`))
  assert.equal(redact('given-in-code-4711, rotated-token-99-x'), 'given-in-code-4711, [redacted]')
})

// Quadratic, each of these would take minutes.
test('a hostile text is processed quickly', () => {
  using _ = environmentOf({ OPENAI_API_KEY: key, GEMINI_API_KEY: `x${'ab1'.repeat(400)}` })
  const hostile = [
    'eyJaaaaaaaa-',
    'eyJaaaaaaaa.',
    'sk-',
    'sk-a',
    '-----BEGIN PRIVATE KEY-----',
    'Bearer ',
    'authorization: ',
    'cookie: a',
    'cookie:',
    '://',
    '://a:',
    '://a:b',
    '?a',
    '?key',
    '&',
    '@',
    'password=',
    'password="',
    'password = \\"',
    'token: ',
    'api_key',
    'secret ',
    key.slice(0, 11),
    'ab1',
    '…',
    '...a',
    '*',
    'a',
    ' ',
    '\\',
    '"',
  ]
  for (const piece of hostile) {
    const text = piece.repeat(Math.ceil(200_000 / piece.length))
    assert.equal(typeof redact(text), 'string')
  }
})
