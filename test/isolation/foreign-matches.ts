import type { Test } from 'tap'
import { startGateway, type TestGateway } from '../harness/gateway.js'
import { unlimitedPlans } from '../harness/client.js'
import { createFhirClient, tenantSystem, type FhirServer } from '../harness/fhir-server.js'
import {
  fhirBase,
  formType,
  findLink,
  buildObservation,
  buildPatient,
  createFhirSender,
  type RawResponse,
  type Fhir
} from '../passthrough/fixture.js'

/** An organization, with the ids that its responses are freed of to be compared with another's. */
interface Organization {
  readonly fhir: Fhir['send']
  readonly secret: string
  readonly gateway: TestGateway
  readonly ids: readonly string[]
}

const identifier = [{ system: 'urn:mrn', value: '7' }]
const padding = Array.from({ length: 100 }, (_, at) => `${at}`.padStart(64, 'f')).join(',')

const listSearches = (first: string): readonly string[] => [
  'Patient?family=Byron',
  'Patient?family=Byron&_count=2',
  'Patient?family=Byron&_count=2&_sort=birthdate',
  'Patient?family=Byron&_total=accurate&_count=2',
  'Patient?identifier=urn:mrn%7C7',
  'Patient?family=Lovelace',
  `Patient?family=Byron,${padding}`,
  `Patient?family=Lovelace,${padding}`,
  'Patient?family=Byron&_revinclude=Observation:patient',
  'Observation?code=29463-7&_include=Observation:subject',
  'Observation?subject:Patient.family=Byron',
  'Observation?subject:Patient.family=Lovelace',
  `Observation?subject:Patient.family=Byron,${padding}`,
  'Patient?_has:Observation:patient:code=29463-7',
  'Patient?_has:Observation:patient:code=8867-4',
  `Observation?patient=${first}`,
  `Patient/${first}/Observation`,
  `Patient/${first}/Observation?code=8867-4`,
  `Patient/${first}/_history`
]

const simple: readonly string[] = [
  'patients?lastName=Byron',
  'patients?lastName=Byron&count=2',
  'patients?lastName=Lovelace',
  'observations?code=http://loinc.org%7C29463-7',
  'patients'
]

/**
 * Every kind of read gives an organization the same response, byte for byte, with matches that carry another tenant's
 * tag as well as without them.
 */
export async function compareForeignMatches (t: Test, url: string): Promise<void> {
  const gateway = await startGateway(t, {
    fhirUrl: url,
    plans: unlimitedPlans,
    config: { publicUrl: new URL(fhirBase).origin }
  })
  const server = createFhirClient(url)
  const [mixed, alone] = [
    await createOrganization(gateway, server, true),
    await createOrganization(gateway, server, false)
  ]
  const requireSame = async (name: string, run: (one: Organization) => Promise<string>) =>
    t.equal(await run(mixed), await run(alone), name)

  for (const [at, path] of listSearches('{first}').entries()) {
    await requireSame(path.slice(0, 90), one => fetchAllPages(one, listSearches(one.ids[0]!)[at]!))
    const [type, query] = path.split('?')
    if (query !== undefined && !type!.includes('/')) {
      await requireSame(`by form: ${path.slice(0, 90)}`, async one =>
        normalizeResponse(one, await one.fhir('POST', `/${type}/_search`, listSearches(one.ids[0]!)[at]!.split('?')[1], formType))
      )
    }
  }
  for (const path of simple) {
    await requireSame(path, async one =>
      normalizeResponse(one, await one.gateway.inject({ url: `/v1/${path}`, headers: { 'x-api-key': one.secret } }))
    )
  }
  const { checks } = (await gateway.inject({ url: '/health' })).json().data
  t.match(
    checks.testDatastore,
    { status: 'degraded', isolation: 'incident' },
    'the health says that the first line of defence does not hold'
  )

  await requireSame('If-None-Exist', async one =>
    normalizeResponse(one, await one.fhir('POST', '/Patient', buildPatient(), { 'if-none-exist': 'identifier=urn:mrn%7C7' }))
  )
  for (const [criteria, body] of [
    ['identifier=urn:mrn%7C7', buildPatient({ identifier })],
    [`identifier=urn:mrn%7C7&family=Byron,${padding}`, buildPatient({ identifier })]
  ] as const) {
    await requireSame(`update by ${criteria.slice(0, 90)}`, async one =>
      normalizeResponse(one, await one.fhir('PUT', `/Patient?${criteria}`, body))
    )
  }
  await requireSame('PATCH by criteria', async one =>
    normalizeResponse(
      one,
      await one.fhir('PATCH', '/Patient?identifier=urn:mrn%7C7', [{ op: 'add', path: '/gender', value: 'female' }], {
        'content-type': 'application/json-patch+json'
      })
    )
  )
  await requireSame('DELETE by criteria', async one => normalizeResponse(one, await one.fhir('DELETE', '/Patient?identifier=urn:mrn%7C7')))
}

async function createOrganization (gateway: TestGateway, server: FhirServer, isMixed: boolean): Promise<Organization> {
  const { tenantId, secret } = await gateway.createKey()
  const own = [{ system: tenantSystem, code: tenantId }]
  const ids: string[] = []
  const store = async (resource: object, tag: object[] = own): Promise<string> => {
    const { body } = await server.send('POST', (resource as { resourceType: string }).resourceType, {
      ...resource,
      meta: { tag }
    })
    ids.push(body.id)
    return body.id
  }
  const first = await store(buildPatient({ birthDate: '1815-12-10' }))
  const both = [...own, { system: tenantSystem, code: 'another-organization' }]
  const storeForeign = async (family: string) => {
    if (!isMixed) return
    const other = await store(buildPatient({ identifier, birthDate: '1815-12-11', name: [{ family }] }), both)
    await store(buildObservation(`Patient/${other}`), both)
    await store(
      buildObservation(`Patient/${first}`, { code: { coding: [{ system: 'http://loinc.org', code: '8867-4' }] } }),
      both
    )
  }
  await storeForeign('Byron')
  await store(buildPatient({ birthDate: '1815-12-12', identifier }))
  await storeForeign('Lovelace')
  // A page of two holds one of another organization, whether the server begins with the first record or the last.
  await storeForeign('Byron')
  await store(buildPatient({ birthDate: '1815-12-13' }))
  await store(buildObservation(`Patient/${first}`))
  return {
    fhir: createFhirSender(gateway, secret),
    secret,
    gateway,
    ids: isMixed ? ids.filter((_, at) => [0, 4, 11, 12].includes(at)) : ids
  }
}

/** All pages of a search. */
async function fetchAllPages (one: Organization, path: string): Promise<string> {
  const texts: string[] = []
  for (let next: string | undefined = `/${path}`; next !== undefined && texts.length < 20;) {
    const page: RawResponse = await one.fhir('GET', next)
    texts.push(normalizeResponse(one, page))
    next = page.status === 200 ? findLink(page, 'next') : undefined
  }
  return texts.join('\n')
}

/** A response without what differs from organization to organization. */
function normalizeResponse (
  { ids }: Organization,
  response: { readonly status?: number; readonly statusCode?: number; readonly text?: string; readonly body?: string }
): string {
  const text = ids.reduce(
    (text, id, at) => text.replaceAll(new RegExp(`(?<![\\w-])${id}(?![\\w-])`, 'g'), `{${at}}`),
    response.text ?? response.body ?? ''
  )
  const steady = text
    .replace(/\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:\d\d)/g, '{time}')
    .replace(/(_cursor=|"cursor":")[\w-]+/g, '$1')
    .replace(/"requestId":"[^"]*"/g, '')
    .replace(/"rateLimit\w+":\d+/g, '')
    .replace(/"source":"[^"]*"/g, '')
    .replace(/org-[a-z2-7]{26}/g, '{tenant}')
  return `${response.status ?? response.statusCode} ${steady}`
}
