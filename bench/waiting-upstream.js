// A FHIR server that answers after a while, as one that has something to do; a record belongs to the organization that
// its id names.
// Usage: node bench/waiting-upstream.js <milliseconds>; prints its base URL.
import { createServer } from 'node:http'

const delayMs = Number(process.argv[2] ?? 0)

const server = createServer((request, response) => {
  const id = request.url.split(/[/?]/).at(3)
  const body = JSON.stringify({
    resourceType: 'Patient',
    id,
    meta: {
      versionId: '1',
      lastUpdated: '2026-01-01T00:00:00.000Z',
      tag: [{ system: 'urn:clinigate:tenant', code: id }]
    },
    name: [{ use: 'official', family: 'Byron', given: ['Ada', 'King'] }],
    birthDate: '1990-03-14'
  })
  const answer = () =>
    response
      .writeHead(200, {
        'content-type': 'application/fhir+json;charset=UTF-8',
        etag: 'W/"1"',
        'content-length': Buffer.byteLength(body)
      })
      .end(body)
  if (delayMs === 0) answer()
  else setTimeout(answer, delayMs)
})
server.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}/fhir`))
process.on('SIGTERM', () => process.exit(0))
