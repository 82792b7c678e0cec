// The form to decide about recorded work that the crew has no task for. Nothing is preselected: a wrong choice may drop
// paid work or repeat a call.
import type { JSX } from 'preact'
import type { OrphanedTask } from '../../../journal/entries.ts'
import { holdsWords } from '../../../journal/describe.ts'
import type { CrewView, ResumeBody, RunDetail } from '../../api/contract.ts'
import { call } from '../api/client.ts'
import { useResource } from '../api/resource.ts'

/** For each orphaned task, the task that continues its work, or `null` to drop the work. */
export type Decisions = { readonly [task: string]: string | null }

/** Converts the decisions to the fields of a resume. */
export function decisionFields(decisions: Decisions): Pick<ResumeBody, 'renamed' | 'removed'> {
  const renamed = Object.entries(decisions).filter((each): each is [string, string] => isName(each[1]))
  const removed = Object.keys(decisions).filter((task) => decisions[task] === null)
  return {
    ...(renamed.length > 0 ? { renamed: Object.fromEntries(renamed) } : {}),
    ...(removed.length > 0 ? { removed } : {}),
  }
}

interface OrphanDecisionsProps {
  readonly detail: RunDetail
  readonly orphaned: readonly OrphanedTask[]
  readonly decisions: Decisions
  onChange(decisions: Decisions): void
}

export function OrphanDecisions({ detail, orphaned, decisions, onChange }: OrphanDecisionsProps): JSX.Element {
  const names = orphaned.map(({ task }) => task)
  const { value: tasks } = useResource(`tasks for ${names.join()} ${JSON.stringify(decisions)}`, async (signal) =>
    Object.fromEntries(
      await Promise.all(names.map(async (name) => [name, await tasksFor(detail, name, decisions, signal)] as const)),
    ),
  )
  const choose = (task: string, choice: string): void => {
    const { [task]: _, ...others } = decisions
    if (choice === '') onChange(others)
    else onChange({ ...others, [task]: choice === dropValue ? null : choice.slice(continuePrefix.length) })
  }
  return (
    <div class="form" role="group" aria-label="Orphaned tasks">
      {orphaned.map((orphan) => {
        const { task } = orphan
        const choice = decisions[task]
        const id = `decision-${task}`
        return (
          <div key={task} class="field">
            <label for={id}>Recorded work of {task}</label>
            <p class="hint">{holdsWords(orphan)}</p>
            <select
              id={id}
              value={choice === undefined ? '' : choice === null ? dropValue : `${continuePrefix}${choice}`}
              onChange={(event) => choose(task, event.currentTarget.value)}
            >
              <option value="">Choose …</option>
              {[...new Set([orphan.nearest, ...(tasks?.[task] ?? []), choice])].filter(isName).map((name) => (
                <option key={name} value={`${continuePrefix}${name}`}>
                  Continue as {name}
                </option>
              ))}
              <option value={dropValue}>Drop it</option>
            </select>
          </div>
        )
      })}
    </div>
  )
}

/** Values of the options; a task could have any name. */
const dropValue = 'dropped'
const continuePrefix = 'to '

function isName(name: string | null | undefined): name is string {
  return typeof name === 'string'
}

/**
 * The tasks that may continue the work: those of the same (perhaps nested) crew. Tasks with recorded work are left out,
 * but not those of a nested crew, whose work the detail doesn't have.
 */
async function tasksFor(
  { crew, tasks }: RunDetail,
  orphan: string,
  decisions: Decisions,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const path = orphan.split('/')
  const own = path.pop()
  const names = await path.reduce(
    async (outer, name, depth) => {
      const renamed = depth === 0 ? decisions[name] : undefined
      const inner = (await outer).find((task) => task.name === (renamed ?? name))?.crew
      return inner === undefined ? [] : tasksOf(inner, signal)
    },
    tasksOf(crew, signal),
  )
  const busy = path.length > 0 ? [] : tasks.filter(({ status }) => status !== 'pending').map(({ name }) => name)
  return names.map(({ name }) => name).filter((name) => name !== own && !busy.includes(name))
}

async function tasksOf(crew: string, signal: AbortSignal): Promise<CrewView['tasks']> {
  return (await call('GET /crews/{crew}', { params: { crew }, signal })).tasks
}
