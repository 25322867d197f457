import { setTimeout as pauseFor } from 'node:timers/promises'
import { parseCapabilities, type Capabilities } from '../../tenant-guard/capabilities.js'
import { accessChecks, formatFailureReason } from './access-checks.js'
import { bundleChecks } from './bundle-checks.js'
import type { Check, Finding, CheckObservation } from './check.js'
import { coverageChecks } from './coverage-checks.js'
import { integrityChecks } from './integrity-checks.js'
import { operationChecks } from './operation-checks.js'
import { orderChecks } from './order-checks.js'
import { searchChecks } from './search-checks.js'
import { TestTenant, type TrialParts } from './test-tenant.js'
import { writeChecks } from './write-checks.js'

export type { Finding, State } from './check.js'

/** All checks, in order. */
export const checks: readonly Check[] = [
  ...accessChecks,
  ...writeChecks,
  ...searchChecks,
  ...orderChecks,
  ...bundleChecks,
  ...integrityChecks,
  ...operationChecks,
  ...coverageChecks
]

/** The dependencies of an examination. */
interface ExaminationParts extends Omit<TrialParts, 'pause'> {
  readonly pause?: TrialParts['pause']
  /** Aborts the remaining checks; the stored records are still deleted. */
  readonly signal?: AbortSignal
  readonly onFinding?: (finding: Finding) => void
}

/** The result of an examination. */
export interface Examination {
  readonly findings: readonly Finding[]
  /** The server's stated capabilities. */
  readonly capabilities: Capabilities | undefined
  /** How many records were stored for it. */
  readonly stored: number
  /** `Type/id` of those that could not be deleted. */
  readonly left: readonly string[]
}

/**
 * Sends a server the requests that the gateway will send, with records of a separate tenant, and deletes them at the
 * end, even after a failure. Nothing else is written, and nothing is deleted by a condition.
 */
export async function runChecks ({
  pause = pauseFor,
  signal,
  onFinding = () => {},
  ...parts
}: ExaminationParts): Promise<Examination> {
  const trial = new TestTenant({ ...parts, pause })
  const findings: Finding[] = []
  for (const check of checks) {
    if (signal?.aborted === true) break
    const finding = await runCheck(check, trial)
    findings.push(finding)
    onFinding(finding)
    if (finding.state === 'blocks' && check.isFirst === true) break
  }
  const left = trial.stored > 0 ? await trial.clean() : []
  const response = await trial.send({ method: 'GET', path: 'metadata' }).catch(() => undefined)
  return { findings, capabilities: response && parseCapabilities(response), stored: trial.stored, left }
}

/** The text for a person if records of an examination remain. */
export const formatLeftovers = (left: readonly string[]): string =>
  `These test records could not be deleted. Delete them manually, or run the command again to retry: ${left.join(', ')}.`

async function runCheck (check: Check, trial: TestTenant): Promise<Finding> {
  const { name, title, otherwise, gateway, remedy } = check
  const { holds, detail, severity: state = otherwise, remedy: change = remedy } = await observe(check, trial)
  const what = { name, title, ...detail !== undefined && { detail } }
  return holds ? { ...what, state: 'works' } : { ...what, state, gateway, change }
}

/** Without a response, a check of a necessary property blocks; any other is unclear. */
async function observe (check: Check, trial: TestTenant): Promise<CheckObservation> {
  try {
    return await check.examine(trial)
  } catch (error) {
    return {
      holds: false,
      detail: formatFailureReason(error),
      severity: check.otherwise === 'blocks' ? 'blocks' : 'unclear'
    }
  }
}
