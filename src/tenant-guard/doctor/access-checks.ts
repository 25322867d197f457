import { Failure } from '../../envelope/failures.js'
import { capabilitiesIn } from '../capabilities.js'
import { fails, holds, seenAs, statusOf, type Check, type Seen } from './check.js'
import { answerOf, type Trial } from './trial.js'

const probe = { method: 'GET', path: 'Patient/clinigate-probe' } as const

/** Whether the gateway comes to the server, and who else does. */
export const accessChecks: readonly Check[] = [
  {
    name: 'reachable',
    title: 'The server answers, and takes the gateway\'s credential',
    otherwise: 'blocks',
    gateway: 'Every request of a client is answered with 502, 503 or 504.',
    change: 'Check datastores.<name>.url, its auth, and that the server runs and can be reached from here.',
    isFirst: true,
    examine: async trial => {
      const answer = await trial.ask(probe).catch((error: unknown) => reasonOf(error))
      if (typeof answer === 'string') return fails(answer)
      if ([401, 403, 407].includes(answer.status)) return fails(`the credential was refused with ${statusOf(answer)}`)
      return seenAs([200, 400, 404, 410].includes(answer.status), `a read of what is not there was answered with ${statusOf(answer)}`)
    }
  },
  {
    name: 'statement',
    title: 'It speaks FHIR 4.0 in JSON, and says what it can do',
    otherwise: 'blocks',
    gateway: 'Records of another version of FHIR are not what clients expect, and bulk exports do not begin.',
    change: 'Set datastores.<name>.url to the base URL of a FHIR R4 server, which ends for example in /fhir.',
    isFirst: true,
    examine: async trial => {
      const capabilities = capabilitiesIn(await trial.ask({ method: 'GET', path: 'metadata' }))
      if (capabilities === undefined) return fails('below /metadata there is no CapabilityStatement in JSON')
      return seenAs(/^4\.0\./.test(capabilities.fhirVersion ?? ''), `it says it speaks FHIR ${capabilities.fhirVersion ?? 'of a version that it does not name'}`)
    }
  },
  {
    name: 'transport',
    title: 'Records and the credential travel encrypted, or stay on this machine',
    otherwise: 'unsafe',
    gateway: 'It sends records and its credential in the clear.',
    change: 'Use https in datastores.<name>.url, with caFile where the authority is your own.',
    examine: async ({ backend: { baseUrl } }) => seenAs(baseUrl.startsWith('https:') || isLoopback(baseUrl), 'plain http to another machine')
  },
  {
    name: 'closed-to-others',
    title: 'Who has no credential reads nothing',
    otherwise: 'unsafe',
    gateway: 'It keeps tenants apart for those who come through it; whoever reaches the server itself reads all of them.',
    change: 'Let the server demand a credential that the gateway alone has, or let nothing but the gateway reach it.',
    examine: async trial => await closedToOthers(trial)
  }
]

async function closedToOthers ({ anonymous }: Trial): Promise<Seen> {
  const answer = await answerOf(anonymous, { method: 'GET', path: 'Patient?_count=0&_tag=urn:clinigate:doctor%7Cnothing' }).catch(() => undefined)
  if (answer === undefined || answer.status !== 200) return holds()
  return isLoopback(anonymous.baseUrl) ? holds('it asks for no credential, and is asked on this machine\'s own address; let it listen there alone') : fails('a search without a credential was answered')
}

/** Whether a base URL leads to this machine. */
export function isLoopback (baseUrl: string): boolean {
  const { hostname } = new URL(baseUrl)
  return hostname === 'localhost' || hostname === '[::1]' || /^127\./.test(hostname)
}

/** Why there was no answer, for an operator. */
export function reasonOf (error: unknown): string {
  if (!(error instanceof Failure)) return (error as Error).message
  const { reason, code } = (error.cause ?? {}) as { reason?: string, code?: string }
  const said = { BACKEND_UNAVAILABLE: 'it does not answer', BACKEND_TIMEOUT: 'it does not answer in time' }[error.code as string] ?? 'its answer cannot be used'
  const known = reason ?? (typeof code === 'string' ? code : undefined)
  return known === undefined ? said : `${said} (${known})`
}
