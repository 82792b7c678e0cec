// A thread that says who it is.
import { currentOwner } from 'reprise/stores'

process.stdout.write(JSON.stringify(currentOwner()))
