import t from 'tap'
import { findBackend } from '../harness/find-backend.js'

t.setTimeout(400_000)

t.test('a test run without a FHIR server starts one in a container, which ends with it', async t => {
  const logged: string[] = []
  const backend = await findBackend({ log: line => logged.push(line), signal: new AbortController().signal })
  t.after(() => backend.stop())
  t.match(backend.name, /^HAPI FHIR 8\.8\.0 by the container image hapiproject\/hapi:v8\.8\.0-1$/, logged.join('\n'))
  const headers = { 'content-type': 'application/fhir+json', prefer: 'return=representation' }
  const stored = await fetch(`${backend.url}/Patient`, {
    method: 'POST',
    headers,
    body: JSON.stringify({ resourceType: 'Patient', name: [{ family: 'Byron' }] })
  })
  t.equal(stored.status, 201)
  const { id } = await stored.json() as { id: string }
  t.equal((await fetch(`${backend.url}/Patient/${id}`)).status, 200)
  await backend.stop()
  await t.rejects(fetch(`${backend.url}/metadata`))
})
