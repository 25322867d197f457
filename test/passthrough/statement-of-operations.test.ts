import t from 'tap'
import { createGatewayClient } from '../harness/client.js'
import { startGateway } from '../harness/gateway.js'

t.test('an operation that the datastore lacks is not stated, and 501 says so', async t => {
  const client = await createGatewayClient(await startGateway(t))
  const { rest: [{ resource, operation }] } = (await client.send('GET', 'fhir/metadata')).body
  t.strictSame(
    [...new Set(resource.flatMap(({ operation = [] }: any) => operation).map(({ name }: any) => name))],
    ['export'],
    'what the gateway does itself'
  )
  t.match(operation, [{ name: 'export' }])
  const { id } = (await client.send('POST', 'patients', { firstName: 'Ada', lastName: 'Byron' })).data
  t.match(await client.send('GET', `fhir/Patient/${id}/$everything`), {
    status: 501,
    body: { resourceType: 'OperationOutcome', issue: [{ code: 'not-supported' }] }
  })
  t.match(await client.send('GET', 'fhir/Patient/none/$everything'), { status: 404 })
})

t.test('a search shows the same of each record as a read, whatever summary is requested', async t => {
  const client = await createGatewayClient(await startGateway(t))
  const text = { status: 'generated', div: '<div xmlns="http://www.w3.org/1999/xhtml">Ada</div>' }
  const {
    body: { id }
  } = await client.send(
    'POST',
    'fhir/Patient',
    { resourceType: 'Patient', text, name: [{ family: 'Byron' }] },
    { 'content-type': 'application/fhir+json' }
  )
  for (const [summary, names] of [
    ['true', undefined],
    ['false', ['name', 'text']],
    ['text', ['text']],
    ['data', ['name']]
  ] as const) {
    const [read, found] = [
      await client.send('GET', `fhir/Patient/${id}?_summary=${summary}`),
      await client.send('GET', `fhir/Patient?_summary=${summary}`)
    ]
    t.strictSame([read.status, found.status], [200, 200], summary)
    t.strictSame(found.body.entry[0].resource, read.body, summary)
    if (names !== undefined) {
      t.strictSame(
        Object.keys(read.body)
          .filter(name => !['resourceType', 'id', 'meta'].includes(name))
          .sort(),
        names
      )
    }
  }
})

// The CapabilityStatement named $export, and not $import.

t.test('$import is stated only where there is a host from which it may fetch', async t => {
  for (const importHosts of [[], ['files.example.org']]) {
    const gateway = await startGateway(t, { config: { bulk: { importHosts } } })
    const client = await createGatewayClient(gateway)
    const [fhir, combined] = [
      (await client.send('GET', 'fhir/metadata')).body.rest[0],
      (await client.send('GET', 'metadata')).data.rest[1]
    ]
    const { operation } = fhir
    t.strictSame(combined.operation, operation)
    t.strictSame(
      operation.map(({ name }: { name: string }) => name),
      importHosts.length === 0 ? ['export'] : ['export', 'import']
    )
    const input = [
      { name: 'type', valueCode: 'Patient' },
      { name: 'url', valueUri: 'https://files.example.org/p.ndjson' }
    ]
    const parameters = {
      resourceType: 'Parameters',
      parameter: [
        { name: 'inputFormat', valueCode: 'application/fhir+ndjson' },
        { name: 'input', part: input }
      ]
    }
    const { status } = await client.send('POST', 'fhir/$import', parameters, {
      'content-type': 'application/fhir+json',
      prefer: 'respond-async'
    })
    t.equal(status, importHosts.length === 0 ? 422 : 202)
  }
})
