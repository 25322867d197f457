import t from 'tap'
import { requireRealBackend } from '../harness/backend.js'
import { createFhirClient } from '../harness/fhir-server.js'
import { startGateway } from '../harness/gateway.js'
import { testStatement } from './statement-contract.js'

t.setTimeout(900_000)

t.test('the CapabilityStatement is true on the real FHIR server', t => {
  t.setTimeout(600_000)
  return testStatement(t, { fhirUrl: requireRealBackend().url }, ['Patient', 'Observation', 'Encounter', 'ServiceRequest'])
})

t.test('the operations that the FHIR server has are stated', async t => {
  const gateway = await startGateway(t, { fhirUrl: requireRealBackend().url })
  const { rest: [{ resource }] } = (await gateway.inject('/v1/fhir/metadata')).json()
  const listOperations = (type: string): string[] =>
    resource
      .find((stated: { type: string }) => stated.type === type)
      .operation.map(({ name }: { name: string }) => name)
      .sort()
  t.strictSame(['Patient', 'Observation', 'ValueSet'].map(listOperations), [
    ['everything', 'export', 'validate'],
    ['validate'],
    ['expand', 'validate-code']
  ])
})

t.test('the CapabilityStatements are valid R4', async t => {
  const gateway = await startGateway(t)
  for (const url of ['/v1/fhir/metadata', '/v1/metadata']) {
    const statement = (await gateway.inject({ url, headers: { accept: 'application/fhir+json' } })).json()
    const { body } = await createFhirClient(requireRealBackend().url).send('POST', 'CapabilityStatement/$validate', statement)
    t.strictSame(
      body.issue.filter(({ severity }: { severity: string }) => severity === 'error' || severity === 'fatal'),
      [],
      url
    )
  }
})
