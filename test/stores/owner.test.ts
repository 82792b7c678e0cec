import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { createInterface } from 'node:readline'
import { Writable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { Worker } from 'node:worker_threads'
import { describeOwner, isOwnerDead, sameOwner, currentOwner, type Owner } from 'reprise/stores'
import { turns } from './other-process.ts'

const machineId =
  ['/etc/machine-id', '/var/lib/dbus/machine-id']
    .map((path) => (existsSync(path) ? readFileSync(path, 'utf8').trim() : ''))
    .find((id) => /^[0-9a-f]{32}$/i.test(id)) ?? ''
const knownMachine = { skip: machineId === '' ? 'this machine has no id' : false }
const onLinux = { skip: process.platform === 'linux' ? false : 'reads /proc' }

test('this process is the same owner every time and not gone', () => {
  assert.equal(currentOwner().pid, process.pid)
  assert.ok(sameOwner(currentOwner(), { ...currentOwner() }))
  assert.equal(isOwnerDead(currentOwner()), false)
})

test('an owner is identified by host, boot, pid, start and instance together', () => {
  for (const other of [{ host: 'x' }, { boot: 'x' }, { pid: 1 }, { start: 'x' }, { instance: 'x' }]) {
    assert.equal(sameOwner(currentOwner(), { ...currentOwner(), ...other }), false)
  }
})

test('a thread is another owner than its process, and neither is gone', async () => {
  const worker = new Worker(new URL('owner-thread.ts', import.meta.url), { stdout: true })
  const theirs = JSON.parse(await text(worker.stdout)) as Owner
  assert.equal(theirs.pid, process.pid)
  assert.equal(sameOwner(theirs, currentOwner()), false)
  assert.ok(sameOwner({ ...theirs, instance: currentOwner().instance }, currentOwner()))
  assert.equal(isOwnerDead(theirs), false)
})

test('a process that has ended is gone', () => {
  const { pid } = spawnSync(process.execPath, ['--version'])
  assert.equal(isOwnerDead({ ...currentOwner(), pid, start: '' }), true)
})

test('a pid reused by a later process is gone', onLinux, () => {
  assert.equal(isOwnerDead({ ...currentOwner(), start: '1' }), true)
})

test('a process of another boot is not known to be gone, since a cloned machine has the same name and id', () => {
  const { pid } = spawnSync(process.execPath, ['--version'])
  for (const boot of ['another', '']) assert.equal(isOwnerDead({ ...currentOwner(), boot, pid }), false)
})

test('a machine of the same name is another host, and its processes are not known to be gone', knownMachine, () => {
  const [name, machine, ...namespace] = currentOwner().host.split('/')
  assert.equal(name, hostname())
  assert.match(machine ?? '', /^[0-9a-f]{12}$/)
  assert.notEqual(machine, machineId.slice(0, 12))
  const host = [name, '0123456789ab', ...namespace].join('/')
  assert.equal(isOwnerDead({ ...currentOwner(), host, boot: 'another' }), false)
})

test('a process of another host, or of another pid namespace, is not known to be gone', () => {
  const { pid } = spawnSync(process.execPath, ['--version'])
  assert.equal(isOwnerDead({ ...currentOwner(), host: 'elsewhere', pid }), false)
  assert.equal(isOwnerDead({ ...currentOwner(), host: `${hostname()}/1`, pid, boot: 'earlier' }), false)
})

test('a live process with an unknown start is not known to be gone', () => {
  assert.equal(isOwnerDead({ ...currentOwner(), start: '' }), false)
})

test('a zombie is gone', onLinux, async () => {
  // The shell starts a child and becomes `cat`, which never asks how its child ended: the child stays as a zombie.
  const parent = spawn('sh', ['-c', 'cat <&3 >/dev/null & echo $!; exec cat 3<&-'], {
    stdio: ['pipe', 'pipe', 'inherit', 'pipe'],
  })
  try {
    assert.ok(parent.stdin && parent.stdout)
    const output = createInterface({ input: parent.stdout })[Symbol.asyncIterator]()
    const pid = Number((await output.next()).value)
    // Only when the parent answers is the shell, which would have asked, no longer there.
    parent.stdin.write('are you cat?\n')
    await output.next()
    assert.equal(isOwnerDead({ ...currentOwner(), pid, start: '' }), false)
    const childInput = parent.stdio[3]
    assert.ok(childInput instanceof Writable)
    childInput.end()
    while (!/\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))) await turns(1)
    assert.equal(isOwnerDead({ ...currentOwner(), pid, start: '' }), true)
  } finally {
    parent.kill('SIGKILL')
  }
})

test('an owner is described by its process and host, without machine and namespace', () => {
  assert.equal(
    describeOwner({ ...currentOwner(), host: 'box1/0123456789ab/4026531836', pid: 4242 }),
    'process 4242 on host box1',
  )
  assert.equal(describeOwner(currentOwner()), `process ${process.pid} on host ${hostname()}`)
})
