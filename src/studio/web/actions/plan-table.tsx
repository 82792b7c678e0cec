// A plan: what will be done about each task, why, and what it may take.
import type { JSX } from 'preact'
import type { PlannedTask } from '../../../journal/entries.ts'
import { describeTaskChanges, describeOrphan } from '../../../journal/describe.ts'
import { amount, dollars } from '../../../text/words.ts'
import type { PlanView } from '../../api/contract.ts'

const words: { readonly [action in PlannedTask['action']]: string } = {
  inherit: 'kept',
  execute: 'executed',
  edit: 'your value',
}
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
            <span class={`status ${tones[planned.action]}`}>{words[planned.action]}</span>
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
          {execute.length === 0 ? 'Nothing is executed.' : `${execute.length} of ${tasks.length} tasks executed.`}
        </strong>{' '}
        {execute.length > 0 && sumWords(estimate)}
      </p>
      {changes && <p class="note">Tasks changed: {describeTaskChanges(changes)}.</p>}
      {orphaned.map((orphan) => (
        <p key={orphan.task} class="note">
          {plan.of === 'resume'
            ? `The crew has no task for the work of ${orphan.task}. The run is resumed once you choose what becomes of it.`
            : `The crew has no task for recorded work of ${describeOrphan(orphan)}. The new run does not use it.`}
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
  if (estimate.usage.calls === 0) return 'no calls before'
  return `~${amount(estimate.usage.input + estimate.usage.output)} tokens${estimate.cost === undefined ? '' : `, ${dollars(estimate.cost)}`}`
}

function sumWords({ usage, cost, unknown }: PlanView['estimate']): string {
  if (!usage) return `What that costs isn’t known for ${unknown.join(', ')}.`
  if (usage.calls === 0) return 'No model calls, as before.'
  const money = cost === undefined ? 'at a price that isn’t known' : dollars(cost)
  return `Expected: about ${amount(usage.input + usage.output)} tokens, ${money}.`
}
