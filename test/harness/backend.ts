/** The real FHIR server of this run, which all test files share: each makes tenants of its own in it. */
interface RealBackend {
  /** The base URL, without a slash at its end. */
  readonly url: string
  /** What it is and where it comes from, as the run printed it. */
  readonly name: string
  /** `hapi`, or a server of test/servers. */
  readonly server: 'hapi' | 'sekmet' | 'helios'
  /** Types of which it takes no record from a client. */
  readonly refusedTypes: readonly string[]
}

/**
 * The server that `npm test` found; a file that needs it is named `*.hapi.test.ts`. Throws when there is none: such a
 * test never passes without.
 */
export function requireRealBackend (): RealBackend {
  const url = process.env.TEST_FHIR_URL
  if (!url) throw new Error('no FHIR server: run npm test, or set TEST_FHIR_URL to a running one (npm run hapi)')
  const server = (process.env.TEST_FHIR_SERVER ?? 'hapi') as RealBackend['server']
  return {
    url,
    name: process.env.TEST_FHIR_NAME ?? 'given by TEST_FHIR_URL',
    server,
    refusedTypes: server === 'helios' ? ['AuditEvent'] : []
  }
}
