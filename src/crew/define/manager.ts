// Resolves the manager of a hierarchical crew: an agent, or a model for the default manager.
import { RepriseError } from '../../base/errors.ts'
import { describe } from '../../base/options.ts'
import { Agent } from '../agent.ts'
import { isAgent } from '../options/crew-checks.ts'
import type { CrewOptions } from '../options/crew-options.ts'

/** CREW_INVALID if a hierarchical crew has no valid manager, or another crew has a manager. */
export function resolveManager({ process, manager }: CrewOptions, agents: readonly Agent[]): Agent | undefined {
  if (process !== 'hierarchical') {
    if (manager === undefined) return undefined
    throw new RepriseError(
      'CREW_INVALID',
      `the crew has a manager, but its process is ${describe(process ?? 'sequential')}; make it 'hierarchical'`,
    )
  }
  if (manager === undefined)
    throw new RepriseError('CREW_INVALID', 'a hierarchical crew needs a manager; give an agent, or a model')
  if (agents.length === 0)
    throw new RepriseError('CREW_INVALID', 'a hierarchical crew needs agents to which its manager can delegate')
  if (!isAgent(manager)) {
    return new Agent({
      role: 'Crew manager',
      goal: 'Get each task done by handing work to the right coworkers, and put what they report together into the result',
      model: manager,
    })
  }
  if (agents.includes(manager))
    throw new RepriseError('CREW_INVALID', `the manager ${manager.role} is one of the agents; remove it from them`)
  if (manager.tools.length > 0) {
    const names = manager.tools.map((tool) => tool.name).join(', ')
    throw new RepriseError('CREW_INVALID', `the manager ${manager.role} has tools (${names}); give them to the agents`)
  }
  return manager
}
