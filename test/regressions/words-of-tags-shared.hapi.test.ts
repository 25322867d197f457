import t from 'tap'
import { realBackend } from '../harness/backend.js'
import { clientOf } from '../harness/client.js'
import { startGateway } from '../harness/gateway.js'

// HAPI keeps what a tag says beside its system and code once, for all records that have the code.
t.test('what one organization says in a tag or label is not shown to another that uses the same code', async t => {
  const gateway = await startGateway(t, { fhirUrl: realBackend().url })
  const [client, other] = [await clientOf(gateway), await clientOf(gateway)]
  const basic = (coding: object) => ({
    resourceType: 'Basic',
    meta: { tag: [coding], security: [coding] },
    code: { text: 'x' }
  })
  const coding = { system: `urn:ward:${client.tenantId}`, code: '3' }
  const said = { display: 'Words of the other', version: '7', userSelected: true }
  for (const [method, path] of [['POST', 'fhir/Basic'], ['PUT', 'fhir/Basic/']] as const) {
    const made = await other.send('POST', 'fhir/Basic', basic(method === 'POST' ? { ...coding, ...said } : coding))
    t.equal(made.status, 201)
    if (method === 'PUT') {
      t.equal(
        (
          await other.send('PUT', path + made.body.id, {
            ...basic({ ...coding, code: '4', ...said }),
            id: made.body.id
          })
        ).status,
        200
      )
    }
  }
  for (const code of ['3', '4']) {
    const made = await client.send('POST', 'fhir/Basic', basic({ ...coding, code }))
    const read = await client.send('GET', `fhir/Basic/${made.body.id}`)
    t.strictSame(read.body.meta.security, [{ ...coding, code }])
    t.strictSame(
      read.body.meta.tag.filter(({ system }: { system: string }) => system === coding.system),
      [{ ...coding, code }]
    )
  }
})

t.test('a label without a system, which HAPI would take for one of another organization, is refused', async t => {
  const client = await clientOf(await startGateway(t, { fhirUrl: realBackend().url }))
  const { status, body } = await client.send('POST', 'fhir/Basic', {
    resourceType: 'Basic',
    meta: { security: [{ code: '3' }] },
    code: { text: 'x' }
  })
  t.equal(status, 422)
  t.match(body.issue[0], { diagnostics: 'Each label in meta.security needs a system.' })
})
