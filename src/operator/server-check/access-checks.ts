import { diagnose } from '../../backends/diagnose.js'
import { Failure } from '../../envelope/failures.js'
import { parseCapabilities } from '../../tenant-guard/capabilities.js'
import { fails, holds, holdsIf, formatStatus, type Check, type CheckObservation } from './check.js'
import { getResponse, type TestTenant } from './test-tenant.js'

const probe = { method: 'GET', path: 'Patient/clinigate-probe' } as const

/** Checks whether the gateway can access the server, and whether other clients can. */
export const accessChecks: readonly Check[] = [
  {
    name: 'reachable',
    title: "The server answers and accepts the gateway's credential",
    otherwise: 'blocks',
    gateway: 'Every request of a client is answered with 502, 503 or 504.',
    remedy: 'Check datastores.<name>.url, its auth, and that the server is running and can be reached from here.',
    isFirst: true,
    examine: async trial => {
      const response = await trial.send(probe).catch((error: unknown) => toUnreachableObservation(error))
      if ('holds' in response) return response
      if ([401, 403, 407].includes(response.status)) {
        return fails(`the credential was refused with ${formatStatus(response)}`)
      }
      return holdsIf(
        [200, 400, 404, 410].includes(response.status),
        `a read of an unknown record was answered with ${formatStatus(response)}`
      )
    }
  },
  {
    name: 'statement',
    title: 'The server supports FHIR 4.0 in JSON and has a CapabilityStatement',
    otherwise: 'blocks',
    gateway: 'Clients do not expect records of another FHIR version, and bulk exports do not start.',
    remedy: 'Set datastores.<name>.url to the base URL of a FHIR R4 server, which ends for example in /fhir.',
    isFirst: true,
    examine: async trial => {
      const capabilities = parseCapabilities(await trial.send({ method: 'GET', path: 'metadata' }))
      if (capabilities === undefined) return fails('/metadata returns no CapabilityStatement in JSON')
      return holdsIf(
        /^4\.0\./.test(capabilities.fhirVersion ?? ''),
        `it reports FHIR ${capabilities.fhirVersion ?? 'without a version'}`
      )
    }
  },
  {
    name: 'transport',
    title: 'Records and the credential are encrypted in transit, or stay on this machine',
    otherwise: 'unsafe',
    gateway: 'It sends records and its credential unencrypted.',
    remedy: 'Use https in datastores.<name>.url, with caFile if you have your own certificate authority.',
    examine: async ({ backend: { baseUrl } }) =>
      holdsIf(baseUrl.startsWith('https:') || isLoopback(baseUrl), 'plain http to another machine')
  },
  {
    name: 'closed-to-others',
    title: 'Nothing can be read without a credential',
    otherwise: 'unsafe',
    gateway: 'It keeps tenants apart, but anyone who reaches the server directly can read all of them.',
    remedy:
      'Make the server require a credential that only the gateway has, or make it reachable only from the gateway.',
    examine: async trial => await checkAnonymousAccess(trial)
  }
]

async function checkAnonymousAccess ({ anonymous }: TestTenant): Promise<CheckObservation> {
  const response = await getResponse(anonymous, {
    method: 'GET',
    path: 'Patient?_count=0&_tag=urn:clinigate:doctor%7Cnothing'
  }).catch(() => undefined)
  if (response === undefined || response.status !== 200) return holds()
  return isLoopback(anonymous.baseUrl)
    ? holds("it requires no credential, but was reached on this machine's loopback address; make it listen only there")
    : fails('a search without a credential was answered')
}

/** Whether a base URL leads to this machine. */
function isLoopback (baseUrl: string): boolean {
  const { hostname } = new URL(baseUrl)
  return hostname === 'localhost' || hostname === '[::1]' || /^127\./.test(hostname)
}

function toUnreachableObservation (error: unknown): CheckObservation {
  const remedy = diagnose(error)?.remedy
  return { ...fails(formatFailureReason(error)), ...remedy !== undefined && { remedy } }
}

/** Why there was no response, for an operator. */
export function formatFailureReason (error: unknown): string {
  if (!(error instanceof Failure)) return (error as Error).message
  const { reason, code } = (error.cause ?? {}) as { reason?: string, code?: string }
  const description =
    { BACKEND_UNAVAILABLE: 'it does not answer', BACKEND_TIMEOUT: 'it does not answer in time' }[
      error.code as string
    ] ?? 'its response cannot be used'
  const known = reason ?? (typeof code === 'string' ? code : undefined)
  const parts = [diagnose(error)?.reason, known].filter(part => part !== undefined)
  return parts.length === 0 ? description : `${description} (${parts.join(': ')})`
}
