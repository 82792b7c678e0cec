// A plan as a table: what happens to each task, why, and the estimated cost.
import type { JSX } from 'preact'
import type { PlannedTask } from '../../../journal/entries.ts'
import { describeTaskChanges, describeOrphan } from '../../../journal/describe.ts'
import { joinKeys, namesByGroup } from '../../../journal/paths.ts'
import { amount, dollars, plural, someNames } from '../../../text/words.ts'
import type { PlanView } from '../../api/contract.ts'

const tones: { readonly [action in PlannedTask['action']]: string } = {
  inherit: 'tone-quiet',
  execute: 'tone-busy',
  edit: 'tone-asks',
}

export function PlanTable({ plan }: { readonly plan: PlanView }): JSX.Element {
  const { tasks, execute, estimate, changes, orphaned, warnings, open } = plan
  const executed = new Set(execute)
  const rows = joinKeys(
    tasks.map((planned) => {
      const { task: name, action, reasons, unless = [] } = planned
      const why = `${reasons.join('; ')}${unless.length > 0 ? ` (unless ${unless.join(' and ')} stays the same)` : ''}`
      return { name, action, why, expected: executed.has(name) ? estimateWords(planned) : '' }
    }),
    ({ action, why, expected }) => `${action} ${why} ${expected}`,
  )
  return (
    <>
      <ol class="plan-tasks">
        {rows.map(({ label, action, why, expected }) => (
          <li key={label}>
            <span class={`status ${tones[action]}`}>{action}</span>
            <strong class="clip">{label}</strong>
            <span class="soft plan-why">{why}</span>
            <span class="number faint">{expected}</span>
          </li>
        ))}
      </ol>
      <p class="plan-sum">
        <strong>
          {open
            ? `${execute.length} of ${plural(tasks.length, 'recorded step')} will be executed, and what follows.`
            : execute.length === 0
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
  if (!usage) return `The cost of ${someNames(namesByGroup(unknown))} is unknown.`
  if (usage.calls === 0) return 'No model calls expected.'
  const money = cost === undefined ? 'at an unknown price' : dollars(cost)
  return `Expected: about ${amount(usage.input + usage.output)} tokens, ${money}.`
}
