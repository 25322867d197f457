import t from 'tap'
import { realBackend } from '../harness/backend.js'
import { clientOf } from '../harness/client.js'
import { fhirServer } from '../harness/fhir-server.js'
import { startGateway } from '../harness/gateway.js'

t.test('a tag without a system whose code is another organization\'s id makes a record nobody else\'s', async t => {
  const { url } = realBackend()
  const gateway = await startGateway(t, { fhirUrl: url })
  const [client, other] = [await clientOf(gateway), await clientOf(gateway)]
  // HAPI knows the other's tag from then on.
  t.equal((await other.send('POST', 'fhir/Basic', { resourceType: 'Basic', code: { text: 'theirs' } })).status, 201)
  const code = other.tenantId
  for (const tag of [
    { code },
    { system: '', code },
    { system: ' ', code },
    { _system: { extension: [{ url: 'http://x.example/e', valueString: 'x' }] }, code }
  ]) {
    const body = { resourceType: 'Basic', meta: { tag: [tag] }, code: { text: 'mine' } }
    const made = await client.send('POST', 'fhir/Basic', body)
    t.equal(made.status, 201)
    t.equal(
      (await client.send('PUT', `fhir/Basic/${made.body.id}`, { ...body, id: made.body.id, code: { text: 'changed' } }))
        .status,
      200
    )
    t.equal((await client.send('GET', `fhir/Basic/${made.body.id}`)).status, 200, 'its owner still has it')
  }
  t.equal((await fhirServer(url).tagged(code, 'Basic')).length, 1, 'the other has its own record and no other')
  t.equal((await other.send('GET', 'fhir/Basic')).body.total, 1)
})
