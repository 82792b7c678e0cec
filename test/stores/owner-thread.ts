// A thread that says who it is.
import { thisOwner } from 'reprise/stores'

process.stdout.write(JSON.stringify(thisOwner()))
