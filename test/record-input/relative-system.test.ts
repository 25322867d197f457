import fc from 'fast-check'
import t from 'tap'
import { createGatewayClient } from '../harness/client.js'
import { startGateway } from '../harness/gateway.js'
import { createImporter } from '../jobs/importing.js'

/** A record of each kind with the URI in every field that R4 requires to be absolute, by the paths of its issues. */
const buildBodies = (uri: string): ReadonlyArray<readonly [path: string, body: object, fields: readonly string[]]> => [
  ['patients', { lastName: 'A', identifiers: [{ system: uri, value: '1' }] }, ['identifiers[0].system']],
  [
    'observations',
    {
      status: 'final',
      patientId: 'p',
      code: { system: uri, code: 'a' },
      valueQuantity: { value: 1, unit: 'x', system: uri, code: 'x' },
      category: [{ system: uri, code: 'x' }]
    },
    ['code.system', 'valueQuantity.system', 'category[0].system']
  ],
  ['measures', { url: uri }, ['url']],
  ['plan-definitions', { url: uri }, ['url']],
  ['activity-definitions', { url: uri }, ['url']]
]

t.test('a system without a scheme, such as #frag or xxx, is rejected with its field', async t => {
  const gateway = await startGateway(t)
  const client = await createGatewayClient(gateway)
  for (const uri of ['#frag', 'xxx', 'a/b', ...fc.sample(fc.stringMatching(/^[a-z#/.0-9_-]{1,9}$/), 10)]) {
    for (const [path, body, fields] of buildBodies(uri)) {
      const { status, body: { issues } } = await client.send('POST', path, body)
      t.equal(status, 422, `${path} ${uri}`)
      const named = issues.map(({ expression, field }: any) => field ?? expression?.[0])
      t.ok(fields.every(field => named.includes(field)), JSON.stringify([named, fields]))
    }
  }
  const { results } = await createImporter(gateway, (await gateway.createKey()).secret).run(
    [{ lastName: 'A', identifiers: [{ system: '#frag', value: '1' }] }],
    '?resourceType=patients'
  )
  t.match(results, [{ status: 'failed', code: 'VALIDATION_ERROR', field: 'identifiers[0].system' }])
})

t.test('a system with a scheme is accepted: a URL, a URN, an OID', async t => {
  const client = await createGatewayClient(await startGateway(t))
  for (const uri of ['https://example.org/a#b', 'urn:oid:1.2.3', 'urn:uuid:7d9c0f2e-1a1b-4c1d-8f0e-000000000001']) {
    const { status, data } = await client.send('POST', 'patients', {
      lastName: 'A',
      identifiers: [{ system: uri, value: '1' }]
    })
    t.match({ status, data }, { status: 201, data: { identifiers: [{ system: uri }] } })
  }
})
