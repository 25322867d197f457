// A FHIR server that answers at once with fixed text, and to a create as if it had stored it, so that a benchmark
// measures what stands before it.
// Usage: node bench/stub-upstream.js <tenantId>; prints its base URL.
import { createServer } from 'node:http'

const [tenantId = 'bench'] = process.argv.slice(2)
const lastUpdated = '2026-01-01T00:00:00.000Z'

function patient (id) {
  return {
    resourceType: 'Patient',
    id,
    meta: { versionId: '1', lastUpdated, tag: [{ system: 'urn:clinigate:tenant', code: tenantId }] },
    name: [{ use: 'official', family: 'Byron', given: ['Ada', 'King'] }],
    telecom: [
      { system: 'email', value: 'ada@example.org' },
      { system: 'phone', value: '+44 20 7946 0000' }
    ],
    gender: 'female',
    birthDate: '1990-03-14',
    address: [{ line: ['1 Example Street'], city: 'London', postalCode: 'N1 9GU', country: 'GB' }],
    active: true,
    maritalStatus: {
      coding: [{ system: 'http://terminology.hl7.org/CodeSystem/v3-MaritalStatus', code: 'M', display: 'Married' }]
    }
  }
}

const one = JSON.stringify(patient('p0'))
const pageAt = (base, count) =>
  JSON.stringify({
    resourceType: 'Bundle',
    id: 'a-search',
    type: 'searchset',
    total: count,
    link: [{ relation: 'self', url: `${base}/Patient?_count=${count}` }],
    entry: Array.from({ length: count }, (_, i) => ({
      fullUrl: `${base}/Patient/p${i}`,
      resource: patient(`p${i}`),
      search: { mode: 'match' }
    }))
  })

let created = 0

/** The record that was sent, with an id and a version. */
async function create (request, response) {
  const chunks = []
  for await (const chunk of request) chunks.push(chunk)
  const sent = JSON.parse(Buffer.concat(chunks).toString())
  const id = `c${++created}`
  const body = JSON.stringify({ ...sent, id, meta: { ...sent.meta, versionId: '1', lastUpdated } })
  response.writeHead(201, {
    'content-type': 'application/fhir+json;charset=UTF-8',
    etag: 'W/"1"',
    location: `http://${request.headers.host}/fhir/Patient/${id}/_history/1`,
    'content-length': Buffer.byteLength(body)
  })
  response.end(body)
}

let pages
const server = createServer((request, response) => {
  if (request.method === 'POST') {
    create(request, response)
    return
  }
  const [, count] = /[?&]_count=(\d+)/.exec(request.url) ?? []
  const body = request.url.includes('?') ? pages[count] ?? pages[20] : one
  response.writeHead(200, {
    'content-type': 'application/fhir+json;charset=UTF-8',
    etag: 'W/"1"',
    'content-length': Buffer.byteLength(body)
  })
  response.end(body)
})
server.listen(0, '127.0.0.1', () => {
  const base = `http://127.0.0.1:${server.address().port}/fhir`
  pages = { 20: pageAt(base, 20), 100: pageAt(base, 100) }
  console.log(base)
})
process.on('SIGTERM', () => process.exit(0))
