import { randomUUID } from 'node:crypto'
import { test } from 'tap'
import { requireRealBackend } from '../harness/backend.js'

const { url } = requireRealBackend()
const headers = { 'content-type': 'application/fhir+json', accept: 'application/fhir+json' }

test('the real backend is a FHIR R4 server that stores a resource and finds it by its tag alone', async t => {
  const tag = { system: 'urn:clinigate:tenant', code: randomUUID() }
  const created = await fetch(`${url}/Patient`, {
    method: 'POST',
    headers,
    body: JSON.stringify({ resourceType: 'Patient', meta: { tag: [tag] } })
  })
  t.equal(created.status, 201)
  const { id } = await created.json() as { id: string }

  const found = await fetch(`${url}/Patient?_tag=${encodeURIComponent(`${tag.system}|${tag.code}`)}&_total=accurate`, {
    headers
  })
  t.match(await found.json(), { resourceType: 'Bundle', total: 1, entry: [{ resource: { id, meta: { tag: [tag] } } }] })
  const foreign = await fetch(
    `${url}/Patient?_tag=${encodeURIComponent(`${tag.system}|${randomUUID()}`)}&_total=accurate`,
    { headers }
  )
  t.match(await foreign.json(), { resourceType: 'Bundle', total: 0 })
})

test('the real backend accepts a bulk export', async t => {
  const started = await fetch(`${url}/$export?_type=Patient`, { headers: { ...headers, prefer: 'respond-async' } })
  t.equal(started.status, 202)
  const job = started.headers.get('content-location') ?? ''
  const polled = await fetch(job, { headers })
  t.ok(polled.ok, 'its state can be asked for')
  await fetch(job, { method: 'DELETE', headers })
})
