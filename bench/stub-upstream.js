// A FHIR server that responds with text that is built beforehand, and to changes as if it had stored them, so that a
// benchmark measures the gateway in front of it. A record belongs to the organization of the command line, unless its
// id names another: `Patient/<tenantId>`.
// Usage: node bench/stub-upstream.js [tenantId] [milliseconds before each response]; prints its base URL.
import { createServer } from 'node:http'
import { getContent } from './records.js'

const [tenantId = 'bench', delayMs = '0'] = process.argv.slice(2)
const lastUpdated = '2026-01-01T00:00:00.000Z'
const json = 'application/fhir+json;charset=UTF-8'

/** Ids that benchmarks choose; any other id that is read is the id of an organization, which owns the record. */
const ownId = /^[a-z]\d+$/

const buildMeta = id => ({
  versionId: '1',
  lastUpdated,
  tag: [{ system: 'urn:clinigate:tenant', code: ownId.test(id) ? tenantId : id }]
})

const build = (type, id) => ({ ...getContent(type), id, meta: buildMeta(id) })

/** A function that calls `make` once for the same arguments. */
function remember (make) {
  const made = new Map()
  return (...args) => {
    const key = args.join()
    if (!made.has(key)) made.set(key, make(...args))
    return made.get(key)
  }
}

const one = remember((type, id) => JSON.stringify(build(type, id)))

const buildSearchset = (base, type, ids) =>
  JSON.stringify({
    resourceType: 'Bundle',
    id: 'a-search',
    type: 'searchset',
    total: ids.length,
    link: [{ relation: 'self', url: `${base}/${type}` }],
    entry: ids.map(id => ({ fullUrl: `${base}/${type}/${id}`, resource: build(type, id), search: { mode: 'match' } }))
  })
const page = remember((base, type, count) =>
  buildSearchset(
    base,
    type,
    Array.from({ length: count }, (_, i) => `p${i}`)
  )
)
const buildMatches = (base, type, ids) => buildSearchset(base, type, ids.split(','))

const statement = JSON.stringify({
  resourceType: 'CapabilityStatement',
  status: 'active',
  date: lastUpdated,
  kind: 'instance',
  fhirVersion: '4.0.1',
  format: ['json'],
  rest: [{ mode: 'server' }]
})

let created = 0

/** A record as if it had been stored: created where it has no id yet. */
function store (base, sent, knownId) {
  const [status, versionId] = knownId === undefined ? [201, '1'] : [200, '2']
  const id = knownId ?? `c${++created}`
  return {
    status,
    versionId,
    location: `${base}/${sent.resourceType}/${id}/_history/${versionId}`,
    resource: { ...sent, id, meta: { ...sent.meta, versionId, lastUpdated } }
  }
}

/** The response to a transaction or batch: each entry as if it had been stored or found. */
function perform (base, { type, entry }) {
  const responses = entry.map(({ resource, request: { method, url } }) => {
    if (method === 'GET') {
      return { resource: JSON.parse(respond(base, method, `/${url}`).body), response: { status: '200 OK' } }
    }
    const id = method === 'PUT' ? url.split('/')[1] : undefined
    const { status, versionId, location, resource: stored } = store(base, resource, id)
    return {
      fullUrl: location.split('/_history')[0],
      resource: stored,
      response: { status: String(status), location, etag: `W/"${versionId}"`, lastModified: lastUpdated }
    }
  })
  return JSON.stringify({ resourceType: 'Bundle', id: 'a-transaction', type: `${type}-response`, entry: responses })
}

function respond (base, method, path, sent) {
  const [type, id] = path.slice(1).split(/[?/]/)
  if (type === 'metadata') return { body: statement }
  if (method === 'GET' && id !== undefined && !path.includes('?')) return { body: one(type, id) }
  if (method === 'GET') {
    const query = new URLSearchParams(path.slice(path.indexOf('?')))
    const ids = query.get('_id')
    return { body: ids === null ? page(base, type, Number(query.get('_count') ?? 20)) : buildMatches(base, type, ids) }
  }
  if (method === 'PATCH') return { body: one(type, id) }
  const parsed = JSON.parse(sent)
  if (type === '') return { body: perform(base, parsed) }
  const { status, versionId, location, resource } = store(base, parsed, method === 'PUT' ? id : undefined)
  return { status, location, versionId, body: JSON.stringify(resource) }
}

const server = createServer(async (request, response) => {
  const sent = request.method === 'GET' ? undefined : Buffer.concat(await request.toArray()).toString()
  if (process.env.TRACE_REQUESTS) console.error(request.method, request.url, sent)
  const { status = 200, versionId = '1', location, body } =
    respond(`http://${request.headers.host}/fhir`, request.method, request.url.replace(/^\/fhir/, '') || '/', sent)
  const send = () =>
    response
      .writeHead(status, {
        'content-type': json,
        etag: `W/"${versionId}"`,
        ...location !== undefined && { location },
        'content-length': Buffer.byteLength(body)
      })
      .end(body)
  if (delayMs === '0') send()
  else setTimeout(send, Number(delayMs))
})
server.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}/fhir`))
process.on('SIGTERM', () => process.exit(0))
