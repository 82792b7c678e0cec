// A thread that says who it is.
import { parentPort } from 'node:worker_threads'
import { thisOwner } from 'reprise/stores'

parentPort?.postMessage(thisOwner())
