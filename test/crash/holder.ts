// A process that resumes one run, with a model server that the test holds back, and prints how the run ended.
import { Agent, Crew, RepriseError, Task } from 'reprise'

const [url = '', run = '', how = ''] = process.argv.slice(2)
const agent = new Agent({ role: 'Clerk', goal: 'Answer', maxRetries: 0 })
const crew = new Crew({ name: 'held', tasks: [new Task({ name: 'job', description: 'Say it', agent })], store: url })

if (how === 'follow') {
  // prints the type of the last entry at the end
  let raw = ''
  for await (const entry of crew.run(run).events()) {
    if (raw === '') process.stdout.write(' ')
    raw = entry.type
  }
  console.log(JSON.stringify({ raw }))
  process.exit()
}

for (;;) {
  try {
    const result = await (how === 'start' ? crew.kickoff({ id: run }) : crew.resume(run))
    console.log(JSON.stringify({ status: result.status, raw: result.raw }))
    break
  } catch (error) {
    const code = RepriseError.isInstance(error) ? error.code : 'unknown'
    // `insist` retries until the lease of a hung holder has expired
    if (how === 'insist' && code === 'RUN_HELD') continue
    console.log(JSON.stringify({ code, message: String(error) }))
    break
  }
}
