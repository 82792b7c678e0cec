// A letter whose crew is edited during the run: outputs edited and invalidated, tasks added, removed and renamed, a
// worker that finds no task for a record, a journal edited by hand, and an unknown message.
import { Agent, Crew, Task, type Answer } from 'reprise'
import { before, editByHand, finishRun, untilDeath, type Life, type Scene } from '../lab.ts'

export const letter: Scene = {
  async record({ store, life, save, saveFinished }) {
    const first = letters(life(), 'first')
    await first.kickoff({ id: 'letter', through: 'check' })
    await first.run('letter').edit('draft', 'Dear Bob', { by: 'Ada' })
    await first.run('letter').invalidate('check', { by: 'Ada' })
    await store.post('letter', { id: 'm1', at: '2026-01-05T09:00:00.000Z', body: '{"type":"praise"}' })
    await save('edited', 'letter', 'done')
    await letters(life(), 'careless').run('letter').requeue({ by: 'Ada' })
    await letters(life(), 'careless').advance('letter')
    await save('orphaned', 'letter', 'done')
    // dies while the task in progress has another text than in today's crew
    await untilDeath(letters(life(before('question.asked')), 'second').resume('letter'))
    await save('killed', 'letter', 'done')
    await letters(life()).resume('letter', { changed: 'restart' })
    await editByHand(store, 'letter', (text) => text.replace('Sincerely, Ada', 'Yours, Ada'))
    await letters(life()).resume('letter')
    await saveFinished('done', 'letter')
  },
  finish,
}

function finish(life: Life, run: string) {
  return finishRun(life, letters(life), run, answer)
}

function answer(): Answer {
  return { decision: 'approve' }
}

/** `careless`: today's crew without `was: 'book'` of task `post`. `second`: with another text. */
function letters({ did, model, options }: Life, edition: 'first' | 'careless' | 'second' | 'today' = 'today') {
  const isFirst = edition === 'first'
  const agent = new Agent({
    role: 'Writer',
    goal: 'Write',
    model: model([
      { when: 'Task: Draft', reply: 'Dear Ada' },
      { when: 'Task: Sign', reply: 'Sincerely, Ada' },
    ]),
  })
  const draft = new Task({ name: 'draft', description: 'Draft a letter', agent })
  const book = new Task({
    name: isFirst ? 'book' : 'post',
    ...(isFirst || edition === 'careless' ? {} : { was: 'book' }),
    context: [],
    run: () => `stamp ${did('buy a stamp')}`,
  })
  const check = new Task({
    name: 'check',
    effect: 'read',
    context: [draft],
    run: ({ outputs }) => `${outputs.draft}: checked ${did(`check ${outputs.draft}`)}`,
  })
  const copy = new Task({ name: 'copy', effect: 'read', context: [draft], run: () => `copy ${did('copy')}` })
  const sign = new Task({
    name: 'sign',
    description: edition === 'second' ? 'Sign with love' : 'Sign',
    agent,
    humanInput: true,
  })
  const seal = new Task({ name: 'seal', description: 'Seal', agent })
  return new Crew({
    ...options,
    name: 'letters',
    version: isFirst ? '1' : '2',
    accepts: ['1'],
    tasks: isFirst ? [draft, book, check, sign, seal] : [draft, book, check, copy, sign],
  })
}
