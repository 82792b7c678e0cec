// The command with which a project begins.
import type { Command as Program } from 'commander'
import { example, type Lazily } from './shared-options.ts'

export function addCreating(program: Program, lazily: Lazily): void {
  const create = program.command('create').description('make a new project with a crew that runs at once')
  create
    .argument('[name]', 'of the project and of its folder (default: my-crew)')
    .option('--model <model>', 'provider/model, for .env (default: REPRISE_MODEL, else openai/gpt-5-mini)')
    .option('--yaml', 'agents and tasks in config/*.yaml, as CrewAI has them')
    .option('--no-yaml', 'all in TypeScript (the default)')
    .option('--install', 'run npm install in it')
    .option('--yes', 'do not ask for what is not given')
    .action(lazily(async () => (await import('../create/create.ts')).create))
  example(create, 'reprise create claims --yaml')
}
