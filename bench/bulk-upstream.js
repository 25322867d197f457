// A FHIR server that accepts any transaction without storing it, and exports as many records as its argument says, so
// that a benchmark measures the gateway in front of it. Usage: node bench/bulk-upstream.js <records>; prints its base
// URL.
import { createServer } from 'node:http'
import { pipeline, Readable } from 'node:stream'
import { serializeLines, generateRecords } from './bulk-records.js'

const records = Number(process.argv[2] ?? 1_000)
const types = ['Patient', 'Observation']
const meta = { versionId: '1', lastUpdated: '2026-01-01T00:00:00.000Z' }

const statement = {
  resourceType: 'CapabilityStatement',
  fhirVersion: '4.0.1',
  rest: [
    {
      mode: 'server',
      resource: types.map(type => ({ type })),
      operation: [{ name: 'export', definition: 'http://hl7.org/fhir/uv/bulkdata/OperationDefinition/export' }]
    }
  ]
}

/** The tenant whose records are exported. */
let tenantId

const server = createServer(async (request, response) => {
  const [path, query = ''] = request.url.slice('/fhir'.length).split('?')
  const body = Buffer.concat(await request.toArray()).toString()
  if (request.method === 'POST' && path === '') {
    return sendJson(
      response,
      200,
      buildTransactionResponse(JSON.parse(body), request.headers.prefer === 'return=minimal')
    )
  }
  if (path === '/metadata') return sendJson(response, 200, statement)
  if (path === '/$export') {
    tenantId = /_tag=urn%3Aclinigate%3Atenant%7C([\w-]+)/.exec(body)[1]
    return response.writeHead(202, { 'content-location': `${getBaseUrl()}/status` }).end()
  }
  if (path === '/status') {
    return sendJson(response, 200, {
      transactionTime: meta.lastUpdated,
      request: getBaseUrl(),
      requiresAccessToken: false,
      output: types.map(type => ({ type, url: `${getBaseUrl()}/files/${type}` })),
      error: []
    })
  }
  if (path.startsWith('/files/')) {
    response.writeHead(200, { 'content-type': 'application/fhir+ndjson' })
    return pipeline(Readable.from(serializeLines(generateStored(path.slice('/files/'.length)))), response, () => {})
  }
  const total = new URLSearchParams(query).get('_count') === '0' ? { total: records } : {}
  sendJson(response, 200, { resourceType: 'Bundle', type: 'searchset', ...total, link: [], entry: [] })
})

function buildTransactionResponse ({ entry }, isMinimal) {
  const recordOf = resource => isMinimal ? {} : { resource: { ...resource, meta: { ...resource.meta, ...meta } } }
  return {
    resourceType: 'Bundle',
    type: 'transaction-response',
    entry: entry.map(({ resource }) => ({
      ...recordOf(resource),
      response: {
        status: '201 Created',
        location: `${resource.resourceType}/${resource.id}/_history/1`,
        etag: '1',
        lastModified: meta.lastUpdated
      }
    }))
  }
}

function * generateStored (type) {
  for (const record of generateRecords('stub', records, tenantId)) {
    if (record.resourceType === type) yield { ...record, meta: { ...record.meta, ...meta } }
  }
}

function sendJson (response, status, body) {
  response.writeHead(status, { 'content-type': 'application/fhir+json;charset=UTF-8' }).end(JSON.stringify(body))
}

const getBaseUrl = () => `http://127.0.0.1:${server.address().port}/fhir`
server.listen(0, '127.0.0.1', () => console.log(getBaseUrl()))
process.on('SIGTERM', () => process.exit(0))
