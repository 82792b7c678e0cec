// A plan as a table: what happens to each task, why, and the estimated cost.
import type { JSX } from 'preact'
import type { PlannedTask } from '../../../journal/entries.ts'
import { describeTaskChanges, describeOrphan } from '../../../journal/describe.ts'
import { amount, dollars, plural } from '../../../text/words.ts'
import type { PlanView } from '../../api/contract.ts'

const tones: { readonly [action in PlannedTask['action']]: string } = {
  inherit: 'tone-quiet',
  execute: 'tone-busy',
  edit: 'tone-asks',
}

export function PlanTable({ plan }: { readonly plan: PlanView }): JSX.Element {
  const { tasks, execute, estimate, changes, orphaned, warnings } = plan
  return (
    <>
      <ol class="plan-tasks">
        {tasks.map((planned) => (
          <li key={planned.task}>
            <span class={`status ${tones[planned.action]}`}>{planned.action}</span>
            <strong class="clip">{planned.task}</strong>
            <span class="soft plan-why">
              {planned.reasons.join('; ')}
              {planned.unless !== undefined &&
                planned.unless.length > 0 &&
                ` (unless ${planned.unless.join(' and ')} stays the same)`}
            </span>
            <span class="number faint">{execute.includes(planned.task) ? estimateWords(planned) : ''}</span>
          </li>
        ))}
      </ol>
      <p class="plan-sum">
        <strong>
          {execute.length === 0
            ? 'Nothing to execute.'
            : `${execute.length} of ${plural(tasks.length, 'task')} will be executed.`}
        </strong>{' '}
        {execute.length > 0 && totalWords(estimate)}
      </p>
      {changes && <p class="note">Tasks changed: {describeTaskChanges(changes)}.</p>}
      {orphaned.map((orphan) => (
        <p key={orphan.task} class="note">
          {plan.of === 'resume'
            ? `The crew has no task for the recorded work of ${orphan.task}. Decide what happens to it, then resume.`
            : `The crew has no task for the recorded work of ${describeOrphan(orphan)}. The new run doesn’t use it.`}
        </p>
      ))}
      {warnings.map((warning) => (
        <p key={warning} class="note">
          {warning}
        </p>
      ))}
    </>
  )
}

function estimateWords({ estimate }: PlannedTask): string {
  if (!estimate) return 'unknown'
  if (estimate.usage.calls === 0) return 'no model calls'
  return `~${amount(estimate.usage.input + estimate.usage.output)} tokens${estimate.cost === undefined ? '' : `, ${dollars(estimate.cost)}`}`
}

function totalWords({ usage, cost, unknown }: PlanView['estimate']): string {
  if (!usage) return `The cost of ${unknown.join(', ')} is unknown.`
  if (usage.calls === 0) return 'No model calls expected.'
  const money = cost === undefined ? 'at an unknown price' : dollars(cost)
  return `Expected: about ${amount(usage.input + usage.output)} tokens, ${money}.`
}
