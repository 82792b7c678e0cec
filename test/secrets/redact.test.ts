import assert from 'node:assert/strict'
import { test } from 'node:test'
import { environment, secrets } from '../../src/environment.ts'
import { providers } from '../../src/models/resolve/providers.ts'
import { redact } from '../../src/secrets/redact.ts'
import { environmentOf } from '../models/support.ts'

test('takes every key of the environment out of a text, also in its escaped forms', () => {
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

test('takes out what looks like a key', () => {
  using _ = environmentOf({})
  assert.equal(redact('Authorization: Bearer abc.def-123'), 'Authorization: Bearer [redacted]')
  assert.equal(redact('key sk-proj-abc123****9f is wrong'), 'key [redacted] is wrong')
  assert.equal(redact('{"x-api-key":"abcdef123"}'), '{"x-api-key":"[redacted]"}')
})

test('leaves a text without keys as it is', () => {
  using _ = environmentOf({ OPENAI_API_KEY: 'x' })
  assert.equal(
    redact('the task-runner asked for a bearer of news, at six'),
    'the task-runner asked for a bearer of news, at six',
  )
})

test('counts an empty variable as not set', () => {
  using _ = environmentOf({ OPENAI_API_KEY: '', REPRISE_MODEL: ' ', REPRISE_STORE: '' })
  assert.deepEqual(secrets(), [])
  assert.equal(environment().model, undefined)
  assert.equal(environment().store, undefined)
  assert.equal(environment().leaseSeconds, undefined)
})

test('takes out the key of every provider, however short, and other credentials that are no words or paths', () => {
  for (const name of providers.flatMap((provider) => provider.keys)) {
    using _ = environmentOf({ [name]: name === 'AWS_BEARER_TOKEN_BEDROCK' ? 'bearer-of-news' : 'third' })
    assert.equal(redact('third bearer-of-news').includes('[redacted]'), true, name)
  }
  using _ = environmentOf({ MY_TOKEN: 'third', OTHER_TOKEN: '/etc/token-of-mine' })
  assert.equal(redact('third /etc/token-of-mine'), 'third /etc/token-of-mine')
})

test('refuses lease seconds that are no positive number, and nothing else because of them', () => {
  for (const value of ['soon', '0', '-1', 'Infinity']) {
    using _ = environmentOf({ REPRISE_LEASE_SECONDS: value, REPRISE_STORE: 'memory:' })
    assert.equal(environment().store, 'memory:')
    assert.throws(() => environment().leaseSeconds, { code: 'OPTION_INVALID', message: /REPRISE_LEASE_SECONDS is "/ })
  }
  using _ = environmentOf({ REPRISE_LEASE_SECONDS: '2.5' })
  assert.equal(environment().leaseSeconds, 2.5)
})

test('takes a password out of an address', () => {
  assert.equal(
    redact('cannot reach http://ada:s3cret@127.0.0.1:80/v1 now'),
    'cannot reach http://[redacted]@127.0.0.1:80/v1 now',
  )
})
