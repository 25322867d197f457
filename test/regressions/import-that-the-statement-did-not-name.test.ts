import t from 'tap'
import { clientOf } from '../harness/client.js'
import { startGateway } from '../harness/gateway.js'

// The CapabilityStatement named $export, and not $import.

t.test('$import is stated where there is a host from which it may fetch, and there alone', async t => {
  for (const importHosts of [[], ['files.example.org']]) {
    const gateway = await startGateway(t, { config: { bulk: { importHosts } } })
    const client = await clientOf(gateway)
    const [fhir, whole] = [
      (await client.send('GET', 'fhir/metadata')).body.rest[0],
      (await client.send('GET', 'metadata')).data.rest[1]
    ]
    const { operation } = fhir
    t.strictSame(whole.operation, operation)
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
