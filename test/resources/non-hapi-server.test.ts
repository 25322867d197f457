import t from 'tap'
import { unlimitedPlans } from '../harness/client.js'
import { createFhirClient } from '../harness/fhir-server.js'
import { startGateway } from '../harness/gateway.js'
import { startTestSandbox } from '../harness/sandbox.js'
import { unlikeHapi } from '../harness/non-hapi-server.js'
import { testChanges } from './change-contract.js'
import { testIdempotency } from './idempotency-contract.js'
import { testPaging } from './paging-contract.js'

// The whole file, on a busy machine.
t.setTimeout(600_000)
const server = await startTestSandbox(t, { ...unlikeHapi, references: 'checked' })
await t.test('a keyed write is done once', t => testIdempotency(t, server.url, { callsOfWrite: 2 }))
await t.test('searches', async t =>
  testPaging(t, await startGateway(t, { fhirUrl: server.url, plans: unlimitedPlans }))
)
await t.test('changes', async t =>
  testChanges(t, await startGateway(t, { fhirUrl: server.url, plans: unlimitedPlans }), createFhirClient(server.url))
)
t.end()
