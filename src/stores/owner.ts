// Identifies processes, so that a run of a killed process can be taken over at once, and a run of a live one cannot. A
// pid isn't enough: pids are reused, and each container counts its own. So an owner is a host (with machine and pid
// namespace), a boot, a pid and the start time of the process. It counts as dead only if that is proven; in doubt, the
// expiry of the lease decides. Nothing is proven across boots: cloned machines share name and id. Each thread, and each
// copy of the library in a process, is an owner of its own, but only a whole process can be dead.
import { execFileSync } from 'node:child_process'
import { readFileSync, readlinkSync } from 'node:fs'
import { hostname } from 'node:os'
import type { Owner } from '../journal/entries.ts'
import { parseObject } from '../journal/json.ts'

// loaded when first needed: commands that only read runs don't need it
const crypto = (): typeof import('node:crypto') => process.getBuiltinModule('node:crypto')

let current: Owner | undefined

/** The owner for this copy of the library in this thread. Never changes while the process runs. */
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

/** Whether the owner's process provably no longer runs. False if this process cannot find out. */
export function isOwnerDead(owner: Owner): boolean {
  const self = currentOwner()
  if (owner.host !== self.host || owner.boot !== self.boot || self.boot === '') return false
  // the usual case: every claim checks the runs of its own process
  if (owner.pid === self.pid && owner.start === self.start) return false
  if (!pidExists(owner.pid)) return true
  const state = processState(owner.pid)
  // alive but unreadable (hidepid, another user): nothing is proven
  if (state === undefined) return false
  if (state.ended) return true
  return owner.start !== '' && state.start !== '' && owner.start !== state.start
}

/** For messages: "process 4242 on host box1", preceded by its label. */
export function describeOwner({ pid, host, label }: Pick<Owner, 'pid' | 'host' | 'label'>): string {
  const name = `process ${pid} on host ${host.split('/')[0]}`
  return label === undefined ? name : `${label} (${name})`
}

// Machines may have the same name, and pids of one namespace mean nothing in another, so both are part of the host.
function hostIdentity(): string {
  return [hostname(), machineId(), pidNamespace()].filter((part) => part !== '').join('/')
}

/** Hashed, since the id itself must not leave the machine; empty if there is none. */
function machineId(): string {
  for (const path of ['/etc/machine-id', '/var/lib/dbus/machine-id']) {
    try {
      const id = readFileSync(path, 'utf8').trim()
      // an image that was never booted has an empty file, or the word "uninitialized"
      if (/^[0-9a-f]{32}$/i.test(id)) return crypto().hash('sha256', `reprise:${id}`).slice(0, 12)
    } catch {
      // try the next path
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

/** Empty if unknown: then no process ever counts as dead. */
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

function pidExists(pid: number): boolean {
  if (!Number.isSafeInteger(pid) || pid <= 0) return false
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH'
  }
}

/** `start` is the start time. `ended` is true for a zombie, which still has a pid but will never write again. */
function processState(pid: number): { start: string; ended: boolean } | undefined {
  try {
    if (process.platform === 'darwin') {
      const start = execFileSync('ps', ['-o', 'lstart=', '-p', String(pid)], { encoding: 'utf8' }).trim()
      return { start, ended: false }
    }
    // the name in parentheses may contain spaces and parentheses: count after the last one (the state is field 3)
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return { start: fields[19] ?? '', ended: fields[0] === 'Z' || fields[0] === 'X' }
  } catch {
    return undefined
  }
}

/** Parses a stored owner. An unreadable owner counts as none: the token still fences out the former holder. */
export function readOwner(text: string | null): Owner | undefined {
  const owner = parseObject(text ?? '') as Partial<Owner> | undefined
  const fields = [owner?.host, owner?.boot, owner?.start, owner?.instance]
  return Number.isSafeInteger(owner?.pid) && fields.every((field) => typeof field === 'string')
    ? (owner as Owner)
    : undefined
}

/** Encodes an owner for storage. Host and boot come first: sorted as text, the owners of one machine are one range. */
export function encodeOwner(owner: Owner): string {
  const { host, boot, ...rest } = owner
  return JSON.stringify({ host, boot, ...rest })
}

/** The range of this machine's owners in their stored form; undefined if no death can be proven. */
export function localOwnerRange(): readonly [first: string, last: string] | undefined {
  const { host, boot } = currentOwner()
  const first = JSON.stringify({ host, boot }).slice(0, -1)
  return boot === '' ? undefined : [first, `${first}\u{10ffff}`]
}

/** The stored owners whose processes are provably dead. */
export function deadOwners(owners: readonly string[]): string[] {
  return owners.filter((text) => isOwnerDead(readOwner(text) ?? currentOwner()))
}
