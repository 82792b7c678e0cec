// Serves the studio over a store of samples, for looking at it: `node --conditions=reprise-source test/studio/look.ts
// sqlite:/tmp/studio.db 4401`.
import { serveStudio } from 'reprise/studio'
import { briefingCrew, checksCrew, claimsCrew, tightCrew } from './sample-crews.ts'

const [store = 'sqlite:/tmp/reprise-studio.db', port = '4401'] = process.argv.slice(2)
const pauseMs = (): number => 500
const crews = [claimsCrew, checksCrew, briefingCrew, tightCrew].map((make) => make({ store, pauseMs }))
const served = await serveStudio({ crews, store, port: Number(port), by: 'Grace' })
console.log(served.url)
