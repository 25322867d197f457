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
export function announcement ({ version, address, sandboxes, demo }: Start, { dataDirectory }: Config): string {
  return [`clinigate ${version} listens on ${address}`, ...aboutSandboxes(sandboxes, dataDirectory), ...aboutDemo(demo), ''].join('\n')
}

function aboutSandboxes (names: readonly string[], dataDirectory: string): string[] {
  if (names.length === 0) return []
  return ['', `The datastore${names.length === 1 ? '' : 's'} ${names.join(' and ')}: an embedded sandbox in ${dataDirectory}. It is for trying out, never for real records;`, 'FHIR_TEST_URL and FHIR_LIVE_URL name servers in its place.']
}

function aboutDemo (demo: Demo | undefined): string[] {
  if (!demo) return []
  return ['', `First start: made the organization demo (${demo.tenantId}). Its keys are shown only now:`, `  test key  ${demo.testKey}`, `  live key  ${demo.liveKey}`]
}
