import type { Test } from 'tap'
import { createGatewayClient, unlimitedPlans, type ClientResponse, type Client } from '../harness/client.js'
import { startGateway } from '../harness/gateway.js'
import { importRequest, createJobMaker } from '../jobs/job-fixtures.js'
import { toComparable } from './foreign-ids.js'

/** Every route below which a job is named, as a request of it. */
const requests: ReadonlyArray<readonly [method: string, path: string, headers?: Readonly<Record<string, string>>]> = [
  ['GET', ''],
  ['HEAD', ''],
  ['DELETE', ''],
  ['GET', '?x=1'],
  ['DELETE', '?x=1'],
  ['GET', '', { 'if-none-match': '*' }],
  ['GET', '/results'],
  ['GET', '/results', { range: 'bytes=0-1' }],
  ['GET', '/files/Patient.ndjson'],
  ['HEAD', '/files/Patient.ndjson'],
  ['GET', '/files/Nothing.ndjson'],
  ['GET', '/files/Patient.ndjson.pieces'],
  ['GET', '/files/..'],
  ['GET', '/files/Patient.ndjson?x=1'],
  ['GET', '/files/Patient.ndjson', { range: 'bytes=0-1' }],
  ['GET', '/files/Patient.ndjson', { range: 'bytes=999-' }],
  ['GET', '/files/Patient.ndjson', { 'if-none-match': '*' }],
  ['GET', '/files/Patient.ndjson', { 'accept-encoding': 'gzip' }]
]

/** The same of raw FHIR, as clients of the Bulk Data Access specification send them. */
const fhirRequests = ['GET', 'HEAD', 'DELETE'].flatMap(method => [[method, ''], [method, '?x=1']] as const)

/** The routes of jobs that are probed here. */
export const probedJobRoutes = [
  '/v1/bulk/jobs',
  '/v1/bulk/jobs/:id',
  '/v1/bulk/jobs/:id/files/:name',
  '/v1/bulk/jobs/:id/results',
  '/v1/fhir/_export/:id',
  '/v1/fhir/_import/:id'
]

/**
 * The probe "another tenant's job" for every route that names one: the response must be that for an unknown job, and
 * the job goes on undisturbed.
 */
export async function probeForeignJobs (t: Test): Promise<void> {
  const gateway = await startGateway(t, { plans: unlimitedPlans })
  const make = createJobMaker(gateway.control, gateway.dataDirectory)
  const [client, other] = [await createGatewayClient(gateway), await createGatewayClient(gateway)]
  const files = { 'Patient.ndjson': '{"resourceType":"Patient","id":"1"}\n' }
  const owners = {
    foreign: { tenantId: other.tenantId, mode: 'test' },
    otherMode: { tenantId: client.tenantId, mode: 'live' }
  } as const
  const strangers = Object.fromEntries(await Promise.all(Object.entries(owners).flatMap(([name, owner]) => [
    [`${name} completed`, { owner, files, end: { status: 'completed' as const } }],
    [`${name} under way`, { owner, files }],
    [`${name} pending`, { owner, isPending: true }],
    [`${name} import`, { owner, request: importRequest, end: { status: 'completed' as const } }],
    [`${name} import under way`, { owner, request: importRequest }]
  ] as const).map(async ([name, request]) => [name, await make(request)] as const)))
  const findStrangerJobs = () =>
    Promise.all(Object.values(strangers).map(job => gateway.control.jobs.find(job.id, job.owner)))
  const before = await findStrangerJobs()
  for (const [method, path, headers] of requests) {
    const unknown = await sendJobRequest(client, method, `job-${'a'.repeat(26)}${path}`, headers)
    if (!path.includes('?')) t.equal(unknown.status, 404, `${method} ${path}`)
    for (const [name, { id }] of Object.entries(strangers)) {
      t.strictSame(
        toComparable(await sendJobRequest(client, method, id + path, headers)),
        toComparable(unknown),
        `${method} ${path} ${JSON.stringify(headers ?? {})}: ${name} as unknown`
      )
    }
    for (const odd of ['1', 'job-', `job-${'A'.repeat(26)}`, 'x'.repeat(65), '%00', "'--"]) {
      t.strictSame(toComparable(await sendJobRequest(client, method, odd + path, headers)), toComparable(unknown), `${method} ${path}: ${odd}`)
    }
  }
  for (const [method, query, operation] of fhirRequests.flatMap(
    ([method, query]) =>
      [
        [method, query, '_export'],
        [method, query, '_import']
      ] as const
  )) {
    const sendFhir = (id: string) => client.send(method, `fhir/${operation}/${id}${query}`)
    const unknown = await sendFhir(`job-${'a'.repeat(26)}`)
    t.equal(unknown.status, query === '' ? 404 : 400)
    for (const [name, { id }] of Object.entries(strangers)) {
      t.strictSame(toComparable(await sendFhir(id)), toComparable(unknown), `${method} ${query}: ${name} as unknown`)
    }
    for (const odd of ['1', 'job-', `job-${'A'.repeat(26)}`, 'x'.repeat(65)]) {
      t.strictSame(toComparable(await sendFhir(odd)), toComparable(unknown), `${method}: ${odd}`)
    }
  }
  t.strictSame(
    (await client.send('GET', 'bulk/jobs')).data,
    { data: [], total: 0, hasMore: false },
    'none of them is listed'
  )
  const { id: _, ...strangerJob } = Object.values(strangers)[0]!
  const cursor = Buffer.from(`${strangerJob.createdAt} ${Object.values(strangers)[0]!.id}`).toString('base64url')
  t.strictSame(
    (await client.send('GET', `bulk/jobs?cursor=${cursor}`)).data,
    { data: [], total: 0, hasMore: false },
    'nor by the cursor of another'
  )
  t.strictSame(await findStrangerJobs(), before, 'nothing was changed')
}

function sendJobRequest (
  client: Client,
  method: string,
  path: string,
  headers: Readonly<Record<string, string>> = {}
): Promise<ClientResponse> {
  return client.send(method, `bulk/jobs/${path}`, undefined, headers)
}
