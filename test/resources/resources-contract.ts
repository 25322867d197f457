import type { Test } from 'tap'
import { mappings } from '../../src/mappings/registry.js'
import { clientOf, unlimitedPlans } from '../harness/client.js'
import { fhirServer } from '../harness/fhir-server.js'
import { startGateway } from '../harness/gateway.js'
import { changeContract } from './change-contract.js'
import { mappingContract } from './mapping-contract.js'
import { pagingContract } from './paging-contract.js'
import { makeWorld } from './fixture.js'

/** Far more than it takes, on a machine that does much else. */
const limitMs = 900_000

/** How many resource groups are put to the test at a time; more wait for the same processors. */
const parallel = 6

/** What the resources must do through the whole gateway, whichever FHIR server is behind it. */
export async function resourcesContract (t: Test, fhirUrl: string): Promise<void> {
  t.setTimeout(limitMs)
  t.jobs = parallel
  const gateway = await startGateway(t, { fhirUrl, plans: unlimitedPlans })
  const server = fhirServer(fhirUrl)
  const client = await clientOf(gateway)
  t.test('searches', t => pagingContract(t, gateway))
  t.test('changes', t => changeContract(t, gateway, server))
  const world = await makeWorld(server, client.tenantId)
  for (const mapping of mappings) t.test(mapping.path, t => mappingContract(t, mapping, { client, server, world }))
}
