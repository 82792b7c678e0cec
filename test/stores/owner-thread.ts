// A thread that posts its owner.
import { currentOwner } from 'reprise/stores'

process.stdout.write(JSON.stringify(currentOwner()))
