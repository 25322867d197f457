import type { Config } from '../config.js'
import type { FirstStart } from './first-start.js'

/** What a start found and made. */
interface Start extends FirstStart {
  readonly version: string
  readonly address: string
  readonly sandboxes: readonly string[]
}

/** What a person at the terminal must know of a start. Secrets are shown here and nowhere else, so this never goes to the log. */
export function announcement ({ version, address, sandboxes, operator, demo }: Start, { dataDirectory, role, control }: Config): string {
  return [
    `clinigate ${version}${kinds[role]} listens on ${address}`,
    role === 'gateway' ? `Its keys come from the control plane at ${control.url}; /health says how old they are.` : `The dashboard is at ${address}/dashboard`,
    ...aboutSandboxes(sandboxes, dataDirectory),
    ...aboutOperator(operator),
    ...aboutDemo(demo),
    ''
  ].join('\n')
}

const kinds: Readonly<Record<Config['role'], string>> = { all: '', gateway: ' (gateway)', control: ' (control plane)' }

function aboutSandboxes (names: readonly string[], dataDirectory: string): string[] {
  if (names.length === 0) return []
  return ['', `The datastore${names.length === 1 ? '' : 's'} ${names.join(' and ')}: an embedded sandbox in ${dataDirectory}. It is for trying out, never for real records;`, 'FHIR_TEST_URL and FHIR_LIVE_URL name servers in its place.']
}

function aboutOperator (operator: FirstStart['operator']): string[] {
  if (!operator) return []
  return ['', 'First start: made an operator for the dashboard. The password is shown only now and is changed at the first sign-in:', `  email     ${operator.email}`, `  password  ${operator.password}`]
}

function aboutDemo (demo: FirstStart['demo']): string[] {
  if (!demo) return []
  return ['', `First start: made the organization demo (${demo.tenantId}). Its keys are shown only now:`, `  test key  ${demo.testKey}`, `  live key  ${demo.liveKey}`]
}
