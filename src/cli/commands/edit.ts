// `reprise edit`: replaces a task's output in an unfinished run. The crew's code is loaded for the schema of the
// output.
import { runArgument, signerOption, taskArgument, withCrew, readSigner } from '../options.ts'
import { isUnfinished } from '../../runs/find.ts'
import { editOutput, editedTextHint } from '../input/editor.ts'
import { withCrewStore } from '../execute.ts'
import { exitCodes } from '../exit-codes.ts'
import { findRun, whatNext, loadCrewOfRun } from '../find/find-run.ts'
import { findOutputTarget } from '../find/find-task.ts'
import type { Command, CrewOptions, Invocation } from '../command.ts'
import { readOutput, parseOutput } from '../input/inputs.ts'

interface EditOptions extends CrewOptions {
  readonly output?: string
  readonly by?: string
}

export const editCommand: Command<EditOptions> = {
  declare: (command) =>
    withCrew(command)
      .argument('[run]', runArgument)
      .argument('[task]', taskArgument)
      .option(
        '--output <value>',
        'the value: text (JSON for a task with a schema or a step of a flow), or @file (else $EDITOR is opened)',
      )
      .option('--by <name>', signerOption),
  examples: [`reprise edit latest facts --output '{"policy":"P-77","issue":"fire"}'`],
  action: edit,
}

async function edit(invocation: Invocation<EditOptions>): Promise<number> {
  const { terminal, args, options, commands } = invocation
  const { crew: found, name } = await loadCrewOfRun(options, args[0], isUnfinished)
  return withCrewStore(invocation, found, async ({ crew, store }) => {
    const { run } = await findRun(store, name, crew.name, { fits: isUnfinished })
    const task = await findOutputTarget(crew, store, async () => run, args[1])
    const signed = readSigner(options.by)
    const handle = crew.run(run)
    if (options.output !== undefined) await handle.edit(task.name, readOutput(task, options.output, '--output'), signed)
    else {
      const edited = await editOutput(store, run, task)
      try {
        await handle.edit(task.name, parseOutput(task, edited.text, `what you wrote for ${task.name}`), signed)
      } catch (error) {
        terminal.err.line(editedTextHint(edited))
        throw error
      }
      edited.discard()
    }
    if (terminal.json) terminal.record({ runId: run, task: task.name, edited: true, ...signed })
    terminal.err.line(
      task.recorded
        ? `edited step ${task.name} of run ${run}; steps that depend on its old value are executed again`
        : `edited task ${task.name} of run ${run}; outputs that depend on its old output are kept`,
    )
    terminal.err.line(await whatNext(commands, store, run))
    return exitCodes.done
  })
}
