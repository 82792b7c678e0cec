// Who a process is, so that a run left behind by a killed one can be taken over at once while a run held by a live one
// cannot. A pid alone says little: pids are used again, and containers count their own. So an owner is host (with
// machine and pid namespace), boot, pid and the start of the process, and "gone" is only said when it is proven; in
// doubt, the lease's expiry decides. Nothing is proven across boots: machines that were cloned share name and id.
// Threads and copies of the library in one process are owners of their own, but only a whole process can be gone.
import { execFileSync } from 'node:child_process'
import { readFileSync, readlinkSync } from 'node:fs'
import { hostname } from 'node:os'
import type { Owner } from '../journal/entries.ts'
import { parseObject } from '../journal/json.ts'

// loaded when it is first needed: a command that only looks at runs does without
const crypto = (): typeof import('node:crypto') => process.getBuiltinModule('node:crypto')

let current: Owner | undefined

/**
 * This process, seen from this copy of the library in this thread, as an owner of leases: the same value while it
 * lives.
 */
export function currentOwner(): Owner {
  current ??= {
    host: hostIdentity(),
    boot: bootId(),
    pid: process.pid,
    start: processState(process.pid)?.start ?? '',
    instance: crypto().randomUUID(),
  }
  return current
}

export function sameOwner(a: Owner, b: Owner): boolean {
  return a.host === b.host && a.boot === b.boot && a.pid === b.pid && a.start === b.start && a.instance === b.instance
}

/** True only when the owner's process provably no longer runs; false for any process that this one cannot see. */
export function isOwnerDead(owner: Owner): boolean {
  const self = currentOwner()
  if (owner.host !== self.host || owner.boot !== self.boot || self.boot === '') return false
  // asked by every claim, about the runs that this process has itself
  if (owner.pid === self.pid && owner.start === self.start) return false
  if (!exists(owner.pid)) return true
  const state = processState(owner.pid)
  // Alive but unreadable (hidepid, another user): nothing is proven.
  if (state === undefined) return false
  if (state.ended) return true
  return owner.start !== '' && state.start !== '' && owner.start !== state.start
}

/** For messages: "process 4242 on host box1", and what it is called. */
export function describeOwner({ pid, host, label }: Pick<Owner, 'pid' | 'host' | 'label'>): string {
  const place = `process ${pid} on host ${host.split('/')[0]}`
  return label === undefined ? place : `${label} (${place})`
}

// Machines may have the same name, and pids of one namespace mean nothing in another, so both are part of the host.
function hostIdentity(): string {
  return [hostname(), machineId(), pidNamespace()].filter((part) => part !== '').join('/')
}

/** Hashed, since the id itself is to be kept to the machine; empty where there is none. */
function machineId(): string {
  for (const path of ['/etc/machine-id', '/var/lib/dbus/machine-id']) {
    try {
      const id = readFileSync(path, 'utf8').trim()
      // An image that was never started has an empty one, or says "uninitialized".
      if (/^[0-9a-f]{32}$/i.test(id)) return crypto().hash('sha256', `reprise:${id}`).slice(0, 12)
    } catch {
      // Not this one.
    }
  }
  return ''
}

function pidNamespace(): string {
  try {
    return /\d+/.exec(readlinkSync('/proc/self/ns/pid'))?.[0] ?? ''
  } catch {
    return ''
  }
}

/** Empty where the system has none: then no process is known to be gone. */
function bootId(): string {
  try {
    if (process.platform === 'darwin') {
      return execFileSync('/usr/sbin/sysctl', ['-n', 'kern.bootsessionuuid'], { encoding: 'utf8' }).trim()
    }
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
  } catch {
    return ''
  }
}

function exists(pid: number): boolean {
  if (!Number.isSafeInteger(pid) || pid <= 0) return false
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH'
  }
}

/** `ended` is a zombie: it still has a pid, but will never write again. */
function processState(pid: number): { start: string; ended: boolean } | undefined {
  try {
    if (process.platform === 'darwin') {
      const start = execFileSync('ps', ['-o', 'lstart=', '-p', String(pid)], { encoding: 'utf8' }).trim()
      return { start, ended: false }
    }
    // The name in parentheses may hold spaces and parentheses itself: count fields after the last one (state is field
    // 3).
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return { start: fields[19] ?? '', ended: fields[0] === 'Z' || fields[0] === 'X' }
  } catch {
    return undefined
  }
}

/** Of a lease as it is stored. One that cannot be read is nobody's: the token keeps whoever had it from writing. */
export function readOwner(text: string | null): Owner | undefined {
  const owner = parseObject(text ?? '') as Partial<Owner> | undefined
  const texts = [owner?.host, owner?.boot, owner?.start, owner?.instance]
  return Number.isSafeInteger(owner?.pid) && texts.every((field) => typeof field === 'string')
    ? (owner as Owner)
    : undefined
}

/** As a server keeps it. Host and boot come first: the owners of one machine are found together. */
export function encodeOwner(owner: Owner): string {
  const { host, boot, ...rest } = owner
  return JSON.stringify({ host, boot, ...rest })
}

/** Between which texts those of this machine are; undefined where no process is known to be gone. */
export function localOwnerRange(): readonly [first: string, last: string] | undefined {
  const { host, boot } = currentOwner()
  const first = JSON.stringify({ host, boot }).slice(0, -1)
  return boot === '' ? undefined : [first, `${first}\u{10ffff}`]
}

/** Of these texts, those of processes that are provably gone. */
export function deadOwners(owners: readonly string[]): string[] {
  return owners.filter((text) => isOwnerDead(readOwner(text) ?? currentOwner()))
}
