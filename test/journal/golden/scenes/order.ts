// A flow that takes an order: steps with and without keys, retries, a failure that it catches, a question, events,
// sleeps, a nested crew, a signal, a call in doubt, and steps that today's code has renamed, changed and removed.
import { Agent, Crew, Flow, Task, type Answer, type OpenQuestion } from 'reprise'
import { z } from 'zod'
import { fail, finishRun, untilDeath, type Death, type Life, type Scene } from '../lab.ts'

export const order: Scene = {
  async record({ life, save, saveFinished, wait, effects }) {
    await orders(life(), 'first').kickoff({ id: 'order', inputs: { item: 'rye' } })
    await save('retrying', 'order', 'done')
    wait(1)
    await orders(life(), 'first').resume('order')
    await save('waiting', 'order', 'done')
    wait(25)
    const crew = orders(life())
    await crew.resume('order')
    for (const amount of [30, 31]) await crew.run('order').send('paid', { amount }, { id: 'payment', by: 'bank' })
    await crew.run('order').answer('q1', answer({ kind: 'value' }))
    await crew.resume('order')
    wait(3)
    const whileCharging: Death = (types) =>
      types.includes('task.completed') && effects.includes('charge 30') ? 'before' : undefined
    await untilDeath(orders(life(whileCharging)).resume('order'))
    await save('killed', 'order', 'done')
    await crew.resume('order')
    await crew.run('order').answer('q2', answer({ kind: 'doubt' }))
    await saveFinished('done', 'order')
    await orders(life()).fork({ runId: 'order', id: 'again', from: 'charge' })
    await save('fork', 'again')
  },
  async finish(life, run) {
    const crew = orders(life)
    await crew.run(run).send('paid', { amount: 30 }, { id: 'payment' })
    // today's flow has no step `log`
    const { log: _, ...outputs } = await finishRun(life, crew, run, answer)
    return outputs
  },
}

function answer({ kind }: Pick<OpenQuestion, 'kind'>): Answer {
  if (kind === 'doubt') return { decision: 'happened', result: 'receipt 0' }
  return kind === 'call' ? { decision: 'approve' } : { decision: 'answer', value: { ok: true } }
}

function orders({ did, model, options }: Life, edition: 'first' | 'today' = 'today') {
  const isFirst = edition === 'first'
  const agent = new Agent({ role: 'Buyer', goal: 'Buy', model: model([{ when: 'Task: Quote', reply: '12 euros' }]) })
  const quote = new Crew({
    ...options,
    name: 'quote',
    tasks: [new Task({ name: 'quote', description: 'Quote {item}', agent })],
  })
  return new Flow({
    ...options,
    name: 'orders',
    inputs: z.object({ item: z.string() }),
    async run(flow) {
      const { item } = flow.inputs
      const retries = { times: 1, backoff: 120 }
      const isKnown = await flow.step(
        isFirst ? 'verify' : 'check',
        { effect: 'read', input: item, retries, ...(isFirst ? {} : { was: 'verify' }) },
        () => (did(`check ${item}`) === 0 ? fail(new Error('no connection')) : true),
      )
      if (isFirst) await flow.step('log', { effect: 'read', input: item }, () => 'logged')
      const losing = new AbortController()
      const night = flow.sleep('night', { hours: 90 }, { signal: losing.signal }).catch((error: Error) => error.message)
      const stocks = await Promise.all(
        ['north', 'south'].map((key) =>
          flow.step('stock', { key, effect: 'idempotent', input: isFirst ? key : { key } }, () => {
            did(`stock ${key}`)
            return `some in the ${key}${isFirst ? '' : ', on pallets'}`
          }),
        ),
      )
      losing.abort(new Error('the stock is known'))
      const quoted = await flow.run(quote, { item }, { key: item })
      const risk = await flow
        .step('risk', { effect: 'idempotent' }, () => fail(new RangeError(`no data ${did('risk')}`), { score: 3 }))
        .catch((error: Error & { readonly score?: number }) => `${error.name} ${error.score}`)
      const bonus = await flow.event('bonus', z.object({ percent: z.number() }), { timeout: { hours: 24 } })
      const about = { stocks, quoted: quoted.raw }
      const { ok } = await flow.ask('approve', { text: 'Buy it?', about }, z.object({ ok: z.boolean() }))
      await flow.sleep('cool-off', { hours: 2 })
      const paid = await flow.event('paid', z.object({ amount: z.number() }))
      const receipt = await flow.step(
        'charge',
        { input: paid.amount },
        (amount) => `receipt ${did(`charge ${amount}`)}`,
      )
      const shipped = await flow.step('ship', { effect: 'idempotent', input: receipt }, () =>
        did('ship') === 0 ? fail(new Error('no lorry')) : 'shipped',
      )
      return { isKnown, night: await night, stocks: stocks.length, risk, bonus: bonus ?? null, ok, receipt, shipped }
    },
  })
}
