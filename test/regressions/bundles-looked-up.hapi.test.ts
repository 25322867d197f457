import t from 'tap'
import { realBackend } from '../harness/backend.js'
import { clientOf } from '../harness/client.js'
import { fhirServer } from '../harness/fhir-server.js'
import { startGateway } from '../harness/gateway.js'

// HAPI applies _elements to the Bundle that it answers with, so that nothing told what it was.
t.test('stored Bundles are found, changed and referred to like any other record', async t => {
  const { url } = realBackend()
  const gateway = await startGateway(t, { fhirUrl: url })
  const [client, other] = [await clientOf(gateway), await clientOf(gateway)]
  const bundle = { resourceType: 'Bundle', type: 'collection', identifier: { system: 'urn:x', value: client.tenantId } }
  // Stored by another gateway, so that this one has to look it up.
  const ids = await fhirServer(url).storeAll(client.tenantId, [
    bundle,
    { ...bundle, identifier: { system: 'urn:y', value: client.tenantId } }
  ])
  const referring = (id?: string) => ({
    resourceType: 'Basic',
    code: { text: 'x' },
    extension: [{ url: 'http://x.example/e', valueReference: { reference: `Bundle/${id}` } }]
  })
  t.equal((await other.send('PUT', `fhir/Bundle/${ids[0]}`, { ...bundle, id: ids[0] })).status, 404)
  t.equal(
    (await client.send('PUT', `fhir/Bundle/${ids[0]}`, { ...bundle, id: ids[0], timestamp: '2026-01-01T00:00:00Z' }))
      .status,
    200
  )
  t.equal((await other.send('POST', 'fhir/Basic', referring(ids[1]))).status, 422)
  t.equal((await client.send('POST', 'fhir/Basic', referring(ids[1]))).status, 201)
  t.equal(
    (await client.send('GET', `fhir/Bundle?identifier=urn:x|${client.tenantId}&_elements=identifier`)).body.total,
    1
  )
  t.equal((await client.send('PUT', `fhir/Bundle?identifier=urn:x|${client.tenantId}`, bundle)).status, 200)
})
