import type { FastifyInstance } from 'fastify'
import type { Test } from 'tap'
import { mappings } from '../../src/mappings/registry.js'
import { startGateway, type TestGateway } from '../harness/gateway.js'

/** A FHIR server, and a way to store on it what no route of the gateway would. */
export interface Server { readonly fhirUrl: string }

const unknownId = 'nobody-has-this-id'

/** The probe "another tenant's id" for every route that takes an id: it must be answered like one that never was. */
export async function probeForeignIds (t: Test, { fhirUrl }: Server): Promise<void> {
  const gateway = await startGateway(t, { fhirUrl, plans: { pro: { requestsPerMinute: null, requestsPerMonth: null, overage: true } } })
  const [own, other] = [await gateway.createKey(), await gateway.createKey()]
  const probe = probing(gateway, own.secret)

  await t.test('every route with an id is probed', async t => {
    t.strictSame(routesWithId(gateway.app), mappings.flatMap(({ path, appendOnly }) =>
      (appendOnly ? ['GET', 'HEAD'] : ['DELETE', 'GET', 'HEAD', 'PATCH']).map(method => `${method} /v1/${path}/:id`)).sort())
  })

  await t.test('reading, changing and deleting another tenant’s record, a deleted one and one that never was are answered alike', async t => {
    for (const { path, type, appendOnly } of mappings) {
      const foreign = await store(fhirUrl, type, other.tenantId)
      const deleted = await store(fhirUrl, type, own.tenantId)
      await fetch(`${fhirUrl}/${type}/${deleted}`, { method: 'DELETE' })
      const before = await versionOf(fhirUrl, type, foreign)
      for (const method of appendOnly ? ['GET', 'HEAD'] as const : ['GET', 'HEAD', 'PATCH', 'DELETE'] as const) {
        const [never, theirs, gone] = await Promise.all([unknownId, foreign, deleted].map(id => probe(method, `${path}/${id}`)))
        t.equal(never!.status, 404, `${method} ${path}`)
        t.strictSame(theirs, never, `${method} ${path}: foreign as unknown`)
        t.strictSame(gone, never, `${method} ${path}: deleted as unknown`)
      }
      t.equal(await versionOf(fhirUrl, type, foreign), before, `${path}: nothing was written`)
    }
  })

  await t.test('a filter by another tenant’s id finds what a filter by no id finds', async t => {
    const foreign = Object.fromEntries(await Promise.all(['Patient', 'Practitioner', 'Organization', 'Encounter'].map(async type => [type, await store(fhirUrl, type, other.tenantId)])))
    for (const { path, filters } of mappings) {
      for (const [name, { kind, types, canonicalOf }] of Object.entries(filters)) {
        const id = foreign[types?.[0] ?? '']
        if (kind !== 'reference' || id === undefined || canonicalOf !== undefined) continue
        const [never, theirs] = await Promise.all([unknownId, id].map(value => probe('GET', `${path}?${name}=${value}`)))
        t.equal(never!.status, 200, `${path} ${name}`)
        t.strictSame(theirs, never, `${path} ${name}`)
      }
    }
  })

  await t.test('a record that refers to another tenant’s, a deleted or no record is refused in one way', async t => {
    const foreign = await store(fhirUrl, 'Patient', other.tenantId)
    const deleted = await store(fhirUrl, 'Patient', own.tenantId)
    await fetch(`${fhirUrl}/Patient/${deleted}`, { method: 'DELETE' })
    const [never, theirs, gone] = await Promise.all([unknownId, foreign, deleted].map(id => probe('POST', 'observations', { code: 'x', patientId: id })))
    t.equal(never!.status, 422)
    t.match(never!.body, { code: 'VALIDATION_ERROR', issues: [{ expression: ['patientId'] }] })
    t.strictSame(theirs, never)
    t.strictSame(gone, never)
    const observed = await fetch(`${fhirUrl}/Observation?subject=Patient/${foreign}&_summary=count`, { headers: { 'cache-control': 'no-cache' } })
    t.equal((await observed.json() as { total: number }).total, 0, 'nothing was written')
  })
}

/** The routes below /v1 that take an id, from the tree that the router prints: one level deeper is four columns further right. */
function routesWithId (app: FastifyInstance): string[] {
  const parents: string[] = []
  return app.printRoutes({ commonPrefix: false }).split('\n').flatMap(line => {
    const [, indent = '', part = '', methods = ''] = /^(.*)── (\S+)(?: \((.+)\))?$/.exec(line) ?? []
    const depth = (indent.length - 1) / 4
    parents[depth] = part
    const path = parents.slice(0, depth + 1).join('')
    return /^\/v1\/.*:/.test(path) ? methods.split(', ').map(method => `${method} ${path}`) : []
  }).sort()
}

/** Stores a bare resource with a tenant's tag past the gateway. */
async function store (fhirUrl: string, type: string, tenantId: string): Promise<string> {
  const resource = { resourceType: type, meta: { tag: [{ system: 'urn:clinigate:tenant', code: tenantId }] } }
  const answer = await fetch(`${fhirUrl}/${type}`, { method: 'POST', headers: { 'content-type': 'application/fhir+json' }, body: JSON.stringify(resource) })
  if (answer.status !== 201) throw new Error(`the server refused a bare ${type}: ${answer.status} ${await answer.text()}`)
  return (await answer.json() as { id: string }).id
}

async function versionOf (fhirUrl: string, type: string, id: string): Promise<string | null> {
  return (await fetch(`${fhirUrl}/${type}/${id}`)).headers.get('etag')
}

type Probe = (method: 'GET' | 'HEAD' | 'PATCH' | 'DELETE' | 'POST', path: string, body?: unknown) => Promise<{ status: number, headers: object, body: unknown }>

/** Sends a request and gives its answer without what differs from request to request: its id, times and the limit's count. */
function probing ({ inject }: TestGateway, secret: string): Probe {
  return async (method, path, body = method === 'PATCH' ? {} : undefined) => {
    const answer = await inject({ method, url: `/v1/${path}`, headers: { 'x-api-key': secret }, ...body !== undefined && { payload: body as object } })
    const { 'x-request-id': _, 'x-timestamp': __, date: ___, ...headers } = answer.headers
    const { meta: ____, ...said } = answer.body === '' ? { meta: undefined } : answer.json()
    return { status: answer.statusCode, headers, body: said }
  }
}
