import type { Config } from '../config.js'
import type { Demo } from './demo.js'

/** What a start found and made. */
export interface Start {
  readonly version: string
  readonly address: string
  readonly sandboxes: readonly string[]
  readonly demo: Demo | undefined
}

/** What a person at the terminal must know of a start. Secrets are shown here and nowhere else, so this never goes to the log. */
export function announcement ({ version, address, sandboxes, demo }: Start, { dataDirectory, role, control }: Config): string {
  return [`clinigate ${version}${kinds[role]} listens on ${address}`, ...aboutRole(role, control), ...aboutSandboxes(sandboxes, dataDirectory), ...aboutDemo(demo), ''].join('\n')
}

const kinds: Readonly<Record<Config['role'], string>> = { all: '', gateway: ' (gateway)', control: ' (control plane)' }

function aboutRole (role: Config['role'], { url }: Config['control']): string[] {
  if (role === 'gateway') return [`Its keys come from the control plane at ${url}; /health says how old they are.`]
  if (role === 'control') return ['Requests to /v1 are for its gateways: npm start -- --role gateway']
  return []
}

function aboutSandboxes (names: readonly string[], dataDirectory: string): string[] {
  if (names.length === 0) return []
  return ['', `The datastore${names.length === 1 ? '' : 's'} ${names.join(' and ')}: an embedded sandbox in ${dataDirectory}. It is for trying out, never for real records;`, 'FHIR_TEST_URL and FHIR_LIVE_URL name servers in its place.']
}

function aboutDemo (demo: Demo | undefined): string[] {
  if (!demo) return []
  return ['', `First start: made the organization demo (${demo.tenantId}). Its keys are shown only now:`, `  test key  ${demo.testKey}`, `  live key  ${demo.liveKey}`]
}
