import type { Config } from '../config/schema.js'
import type { FirstRun } from './first-start.js'

/** The results of a start. */
interface Start extends FirstRun {
  readonly version: string
  readonly address: string
  readonly sandboxes: readonly string[]
}

/**
 * The message of a start for the person at the terminal. Secrets are shown here and nowhere else, so this never goes to
 * the log.
 */
export function startupMessage (
  { version, address, sandboxes, operator, demo }: Start,
  { dataDirectory, role, control, processes }: Config
): string {
  return [
    `clinigate ${version}${kinds[role]} listens on ${address}${processes > 1 ? ` with ${processes} processes` : ''}`,
    control.url === undefined
      ? `The dashboard is at ${address}/dashboard`
      : `It gets its keys from the control plane at ${control.url}. /health shows the age of its key copy.`,
    ...aboutSandboxes(sandboxes, dataDirectory),
    ...aboutOperator(operator),
    ...aboutDemo(demo),
    ''
  ].join('\n')
}

const kinds: Readonly<Record<Config['role'], string>> = {
  all: '', gateway: ' (gateway)', control: ' (control plane)', worker: ' (worker)'
}

function aboutSandboxes (names: readonly string[], dataDirectory: string): string[] {
  if (names.length === 0) return []
  return [
    '',
    `The datastore${names.length === 1 ? '' : 's'} ${names.join(' and ')}: an embedded sandbox in ${dataDirectory}, for evaluation only, never for real records.`,
    'To use your own FHIR servers, set FHIR_TEST_URL and FHIR_LIVE_URL.'
  ]
}

function aboutOperator (operator: FirstRun['operator']): string[] {
  if (!operator) return []
  return [
    '',
    'First start: created an operator for the dashboard. The password is shown only once and must be changed at the first sign-in:',
    `  email     ${operator.email}`,
    `  password  ${operator.password}`
  ]
}

function aboutDemo (demo: FirstRun['demo']): string[] {
  if (!demo) return []
  return [
    '',
    `First start: created the organization demo (${demo.tenantId}). Its keys are shown only once:`,
    `  test key  ${demo.testKey}`,
    `  live key  ${demo.liveKey}`
  ]
}
