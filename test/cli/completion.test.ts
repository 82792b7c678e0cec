import assert from 'node:assert/strict'
import { execFile, execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { chmod } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { claims, filing, project, type Ended, type Project } from './support.ts'

const inputs = ['--input', 'notes=Water', '--input', 'tone=calm']
const main = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url))

/** `reprise` as a command on the path of a shell. */
async function withCommand(folder: Project): Promise<Project> {
  await folder.write('reprise', `#!/bin/sh\nexec '${process.execPath}' --conditions=reprise-source '${main}' "$@"\n`)
  await chmod(join(folder.path, 'reprise'), 0o755)
  return folder
}

/** What Tab offers behind each of these lines, in a real bash that has sourced the script. */
async function tab(folder: Project, ...lines: readonly string[]): Promise<{ [line: string]: string[] }> {
  const script = `
    source <(reprise completion bash)
    for COMP_LINE; do
      COMP_POINT=\${#COMP_LINE}
      # as readline cuts a line, though the script does not rely on it
      COMP_WORDS=($COMP_LINE) COMP_CWORD=$((\${#COMP_WORDS[@]} - 1))
      [[ $COMP_LINE == *' ' ]] && COMP_WORDS+=('') && COMP_CWORD=$((COMP_CWORD + 1))
      _reprise
      echo "\${COMPREPLY[*]}"
    done`
  const { stdout, stderr } = await promisify(execFile)('bash', ['--norc', '-c', script, 'bash', ...lines], {
    cwd: folder.path,
    env: { PATH: `${folder.path}:${process.env['PATH']}`, HOME: folder.path },
  })
  assert.equal(stderr, '')
  const offered = stdout.split('\n').map((words) => words.split(' ').filter((word) => word !== ''))
  return Object.fromEntries(lines.map((line, index) => [line, offered[index] ?? []]))
}

function has(shell: string): boolean {
  try {
    execFileSync(shell, ['--version'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

describe('completion', { concurrency: 3, skip: has('bash') ? false : 'there is no bash' }, () => {
  test('bash completes commands, options, choices and their values behind =', async () => {
    await using folder = await withCommand(await project())
    const many = await tab(folder, 'reprise ', 'reprise show --')
    assert.ok(many['reprise ']?.includes('backtest'))
    assert.ok(many['reprise show --']?.includes('--store'))
    const expected = {
      'reprise sho': ['show'],
      'reprise --json replay --dr': ['--dry-run'],
      'reprise runs --status st': ['stopped'],
      // bash itself has cut the word at the sign
      'reprise runs --status=st': ['stopped'],
      'reprise prune --status st': ['stopped'],
      'reprise completion z': ['zsh'],
      'reprise enqueue --priority h': ['high'],
      'reprise nothing ': [],
    }
    assert.deepEqual(await tab(folder, ...Object.keys(expected)), expected)
    assert.ok(!existsSync(join(folder.path, '.reprise')))
  })

  test('bash completes runs, tasks and crews from the store', async () => {
    await using folder = await withCommand(await project(claims))
    await folder.reprise('run', '--id', 'claim-1', ...inputs)
    await folder.reprise('run', '--id', 'claim-2', '--through', 'facts', ...inputs)
    await folder.reprise('backtest', '-t', 'note', '--run', 'claim-1', '--id', 'trial')
    const expected = {
      'reprise show claim': ['claim-2', 'claim-1'],
      'reprise diff claim-1 la': ['latest'],
      'reprise replay --run claim': ['claim-2', 'claim-1'],
      // claim-1 is completed, and none has a question
      'reprise resume cl': ['claim-2'],
      'reprise requeue cl': ['claim-2'],
      'reprise answer ': [],
      'reprise replay -t ': ['facts', 'note'],
      'reprise show claim-1 --task n': ['note'],
      'reprise invalidate claim-2 f': ['facts'],
      'reprise runs --crew ': ['claims'],
      // and at this one
      'reprise show trial:cl': ['claim-1'],
      'reprise show --store sqlite:none.db cl': [],
    }
    assert.deepEqual(await tab(folder, ...Object.keys(expected)), expected)
    assert.ok(!existsSync(join(folder.path, 'none.db')))
  })

  test('bash completes questions and the decisions that they take', async () => {
    await using folder = await withCommand(await project(filing))
    const started = folder.start(['run', '--id', 'asks'], { HANG: '1' })
    await started.says('file_claim called')
    started.child.kill('SIGINT')
    await started.ended()
    await folder.reprise('resume', 'asks')
    const expected = {
      'reprise answer asks ': ['q1'],
      'reprise answer asks q1 --decision ': ['run', 'happened', 'fail'],
    }
    assert.deepEqual(await tab(folder, ...Object.keys(expected)), expected)
  })

  test('what shells ask is answered without a word when something is wrong', async () => {
    await using folder = await project(claims)
    await folder.write('broken.db', 'this is no database, whatever its name says'.repeat(50))
    const asked = (...words: readonly string[]): Promise<Ended> => folder.start(['complete', ...words]).ended()
    const broken = await asked('--', 'show', '--store', 'sqlite:broken.db', '')
    assert.deepEqual(broken, { code: 0, stdout: '', stderr: '' })
    assert.deepEqual(await asked('--', 'run', ''), { code: 0, stdout: ':files\n', stderr: '' })
    assert.deepEqual(await asked(), await asked('--', ''))
  })

  for (const shell of ['zsh', 'fish'])
    test(`${shell} takes its script`, { skip: has(shell) ? false : `there is no ${shell}` }, async () => {
      await using folder = await withCommand(await project())
      const { stdout } = await folder.reprise('completion', shell)
      await folder.write('script', shell === 'zsh' ? `autoload -U compinit; compinit -u -D\n${stdout}` : stdout)
      const ask = shell === 'zsh' ? 'whence -w _reprise' : 'complete -C "reprise sho"'
      const said = execFileSync(shell, ['-c', `source script; ${ask}`], {
        cwd: folder.path,
        encoding: 'utf8',
        env: { ...process.env, PATH: `${folder.path}:${process.env['PATH']}`, HOME: folder.path },
      })
      assert.match(said, shell === 'zsh' ? /^_reprise: function$/m : /^show\tshow one run/m)
    })
})
