import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { createInterface } from 'node:readline'
import { Writable } from 'node:stream'
import { test } from 'node:test'
import { describeOwner, isGone, sameOwner, thisOwner } from 'reprise/stores'
import { turns } from './other-process.ts'

const onLinux = { skip: process.platform === 'linux' ? false : 'reads /proc' }

test('this process is the same owner every time and not gone', () => {
  assert.equal(thisOwner().pid, process.pid)
  assert.ok(sameOwner(thisOwner(), { ...thisOwner() }))
  assert.equal(isGone(thisOwner()), false)
})

test('an owner is known by host, boot, pid and start together', () => {
  for (const other of [{ host: 'x' }, { boot: 'x' }, { pid: 1 }, { start: 'x' }]) {
    assert.equal(sameOwner(thisOwner(), { ...thisOwner(), ...other }), false)
  }
})

test('a process that has ended is gone', () => {
  const { pid } = spawnSync(process.execPath, ['--version'])
  assert.equal(isGone({ ...thisOwner(), pid, start: '' }), true)
})

test('a pid that is used again by a later process is gone', onLinux, () => {
  assert.equal(isGone({ ...thisOwner(), start: '1' }), true)
})

test('a process of an earlier boot is gone', onLinux, () => {
  assert.equal(isGone({ ...thisOwner(), boot: 'earlier' }), true)
})

test('a process of another host, or of another pid namespace, is not known to be gone', () => {
  const { pid } = spawnSync(process.execPath, ['--version'])
  assert.equal(isGone({ ...thisOwner(), host: 'elsewhere', pid }), false)
  assert.equal(isGone({ ...thisOwner(), host: `${hostname()}/1`, pid, boot: 'earlier' }), false)
})

test('a live process whose start is not known is not known to be gone', () => {
  assert.equal(isGone({ ...thisOwner(), start: '' }), false)
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
    assert.equal(isGone({ ...thisOwner(), pid, start: '' }), false)
    const childInput = parent.stdio[3]
    assert.ok(childInput instanceof Writable)
    childInput.end()
    while (!/\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))) await turns(1)
    assert.equal(isGone({ ...thisOwner(), pid, start: '' }), true)
  } finally {
    parent.kill('SIGKILL')
  }
})

test('an owner is described by its process and host, without the namespace', () => {
  assert.equal(describeOwner({ host: 'box1/4026531836', boot: '', pid: 4242, start: '' }), 'process 4242 on host box1')
  assert.equal(describeOwner(thisOwner()), `process ${process.pid} on host ${hostname()}`)
})
