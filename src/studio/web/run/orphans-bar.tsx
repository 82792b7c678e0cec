// Recorded work that the crew has no task for, and what decides about it.
import type { JSX } from 'preact'
import { suggestDecision, describeOrphan } from '../../../journal/describe.ts'
import type { RunDetail } from '../../api/contract.ts'
import { Command } from '../parts/command.tsx'
import { navigate, withQuery } from '../routing/router.ts'

export function OrphansBar({ detail: { runId, caller, orphaned, can } }: { readonly detail: RunDetail }): JSX.Element {
  const { renamed = {}, removed = [] } = suggestDecision(runId, orphaned)
  const options = [
    ...Object.entries(renamed).flatMap(([old, now]) => ['--renamed', `${old}=${now}`]),
    ...removed.flatMap((task) => ['--removed', task]),
  ]
  const here = can.includes('resume')
  return (
    <div class="gone-bar orphans-bar" role="status">
      <p>
        The crew has no task for recorded work of {orphaned.map(describeOrphan).join('; ')}. The run is not executed
        before that is decided.
        {!here && caller === undefined && (
          <Command lead=" A resume decides it, for example: " words={['resume', runId, ...options]} />
        )}
      </p>
      {here && (
        <button type="button" onClick={() => navigate(withQuery({ take: 'resume' }))}>
          Decide
        </button>
      )}
    </div>
  )
}
