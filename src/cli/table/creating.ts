// The commands with which a project and a shell begin.
import { Argument, type Command as Program } from 'commander'
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

  const completion = program.command('completion').description('print what a shell needs to complete your words')
  completion
    .addArgument(new Argument('<shell>', 'your shell').choices(['bash', 'zsh', 'fish']))
    .action(lazily(async () => (await import('../completion/completion.ts')).completion))
  example(completion, 'reprise completion bash >> ~/.bashrc')
}
