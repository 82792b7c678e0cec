import assert from 'node:assert/strict'
import { test } from 'node:test'
import { environment, secrets } from '../../src/base/environment.ts'
import { providers } from '../../src/models/resolve/providers.ts'
import { redact } from '../../src/secrets/redact.ts'
import { openStore } from '../../src/stores/open-store.ts'
import { environmentOf } from '../models/support.ts'

test('every key of the environment is redacted from a text, in its escaped forms too', () => {
  using _ = environmentOf({
    OPENAI_API_KEY: 'first/key',
    ANTHROPIC_API_KEY: 'first/key-longer',
    GEMINI_API_KEY: 'third',
  })
  assert.equal(
    redact('first/key-longer, first/key, first%2Fkey and third'),
    '[redacted], [redacted], [redacted] and [redacted]',
  )
})

test('text that looks like a key is redacted', () => {
  using _ = environmentOf({})
  assert.equal(redact('Authorization: Bearer abc.def-123'), 'Authorization: Bearer [redacted]')
  assert.equal(redact('key sk-proj-abc123****9f is wrong'), 'key [redacted] is wrong')
  assert.equal(redact('{"x-api-key":"abcdef123"}'), '{"x-api-key":"[redacted]"}')
})

test('a text without keys is unchanged', () => {
  using _ = environmentOf({ OPENAI_API_KEY: 'x' })
  assert.equal(
    redact('the task-runner asked for a bearer of news, at six'),
    'the task-runner asked for a bearer of news, at six',
  )
})

test('an empty variable counts as unset', () => {
  using _ = environmentOf({ OPENAI_API_KEY: '', REPRISE_MODEL: ' ', REPRISE_STORE: '' })
  assert.deepEqual(secrets(), [])
  assert.equal(environment().model, undefined)
  assert.equal(environment().store, undefined)
  assert.equal(environment().leaseSeconds, undefined)
})

test('the key of every provider, however short, and other credentials are redacted unless they are words or paths', () => {
  for (const name of providers.flatMap((provider) => provider.keys)) {
    using _ = environmentOf({ [name]: name === 'AWS_BEARER_TOKEN_BEDROCK' ? 'bearer-of-news' : 'third' })
    assert.equal(redact('third bearer-of-news').includes('[redacted]'), true, name)
  }
  using _ = environmentOf({ MY_TOKEN: 'third', OTHER_TOKEN: '/etc/token-of-mine' })
  assert.equal(redact('third /etc/token-of-mine'), 'third /etc/token-of-mine')
})

test("lease seconds that aren't a positive number are refused, and nothing else because of them", () => {
  for (const value of ['soon', '0', '-1', 'Infinity']) {
    using _ = environmentOf({ REPRISE_LEASE_SECONDS: value, REPRISE_STORE: 'memory:' })
    assert.equal(environment().store, 'memory:')
    assert.throws(() => environment().leaseSeconds, { code: 'OPTION_INVALID', message: /REPRISE_LEASE_SECONDS is "/ })
  }
  using _ = environmentOf({ REPRISE_LEASE_SECONDS: '2.5' })
  assert.equal(environment().leaseSeconds, 2.5)
})

test('a password in an address is redacted', () => {
  assert.equal(
    redact('cannot reach http://ada:s3cret@127.0.0.1:80/v1 now'),
    'cannot reach http://[redacted]@127.0.0.1:80/v1 now',
  )
})

test("a store's names are not secrets, nor is a password equal to one of them", () => {
  const found = 'postgres://reprise@127.0.0.1:54329/reprise: schema reprise, written as reprise, crew reprise'
  for (const url of [
    'postgres://reprise@127.0.0.1:54329/reprise',
    'postgres://reprise:reprise@127.0.0.1:54329/reprise',
    'postgres://ada:reprise@127.0.0.1:54329/claims',
    'postgres://ada:secret-4711@127.0.0.1:54329/reprise?schema=reprise',
  ]) {
    using _ = environmentOf({ REPRISE_STORE: url })
    assert.equal(redact(found), found, url)
  }
  const names = 'postgres://claims_2026_writer@db.internal/claims_production_2026?schema=claims_schema_2026'
  using _ = environmentOf({ REPRISE_STORE: names })
  assert.equal(redact(`${names}: schema claims_schema_2026`), `${names}: schema claims_schema_2026`)
  using _redis = environmentOf({ REPRISE_STORE: 'redis://:redis@127.0.0.1:6379/0?prefix=claims_2026_prefix_a' })
  assert.equal(redact('redis, claims_2026_prefix_a'), 'redis, claims_2026_prefix_a')
})

test("a store's password is redacted where it appears alone, wherever its URL came from", async () => {
  using _ = environmentOf({ REPRISE_STORE: 'postgres://ada:claim@127.0.0.1:1/cases' })
  assert.equal(redact('ada may not read claims by "claim"'), 'ada may not read claims by "[redacted]"')
  await assert.rejects(openStore('postgres://ada:in-code-p%40ss@127.0.0.1:1/claims?pool=0'))
  assert.equal(redact('tried in-code-p@ss and in-code-p%40ss'), 'tried [redacted] and [redacted]')
  await assert.rejects(openStore('redis://:hid7den@127.0.0.1:1/0?sentinel=s&sentinelPassword=wat6ch&timeoutMs=0'))
  assert.equal(redact('hid7den wat6ch'), '[redacted] [redacted]')
})
