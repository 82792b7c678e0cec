// A process that follows a run of another one, and writes its events to stdout as a server would send them.
import { speakingCrew, speakingModel } from './speaking-model.ts'

const [store = '', run = ''] = process.argv.slice(2)
await using crew = speakingCrew(
  speakingModel(() => []),
  { store },
)
const response = await crew.run(run).toResponse()
for await (const bytes of response.body ?? []) process.stdout.write(bytes)
