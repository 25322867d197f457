import t from 'tap'
import { unlimitedPlans } from '../harness/client.js'
import { fhirServer } from '../harness/fhir-server.js'
import { startGateway } from '../harness/gateway.js'
import { startTestSandbox } from '../harness/sandbox.js'
import { unlikeHapi } from '../harness/non-hapi-server.js'
import { changeContract } from './change-contract.js'
import { idempotencyContract } from './idempotency-contract.js'
import { pagingContract } from './paging-contract.js'

// The whole file, on a machine that does much else.
t.setTimeout(600_000)
const server = await startTestSandbox(t, { ...unlikeHapi, references: 'checked' })
await t.test('a keyed write is done once', t => idempotencyContract(t, server.url, { callsOfWrite: 2 }))
await t.test('searches', async t =>
  pagingContract(t, await startGateway(t, { fhirUrl: server.url, plans: unlimitedPlans }))
)
await t.test('changes', async t =>
  changeContract(t, await startGateway(t, { fhirUrl: server.url, plans: unlimitedPlans }), fhirServer(server.url))
)
t.end()
