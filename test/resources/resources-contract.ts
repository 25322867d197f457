import type { Test } from 'tap'
import { mappings } from '../../src/mappings/registry.js'
import { createGatewayClient, unlimitedPlans } from '../harness/client.js'
import { createFhirClient, type FhirServer } from '../harness/fhir-server.js'
import { startGateway } from '../harness/gateway.js'
import { testChanges } from './change-contract.js'
import { testMapping } from './mapping-contract.js'
import { testPaging } from './paging-contract.js'
import { makeWorld } from './fixture.js'
import type { TestContext } from './location.js'

/** Far more than it takes, on a busy machine. */
const limitMs = 900_000

/** How many resource groups are tested at a time; more wait for the same processors. */
const parallel = 6

/** The parts of the contract that a server is tested for, when it cannot do all of R4. */
interface Extent {
  /** Paths of the resource groups; all of them unless said. */
  readonly groups?: readonly string[] | undefined
  /** Whether the server need have only the search parameters that it states. */
  readonly lacksParameters?: boolean
  /** Types of which the server accepts no record. */
  readonly refusedTypes?: readonly string[]
}

/** The rules for the resources through the whole gateway, on every FHIR server. */
export async function testResources (
  t: Test,
  fhirUrl: string,
  { groups, lacksParameters = false, refusedTypes }: Extent = {}
): Promise<void> {
  t.setTimeout(limitMs)
  t.jobs = parallel
  const gateway = await startGateway(t, { fhirUrl, plans: unlimitedPlans })
  const server = createFhirClient(fhirUrl)
  const client = await createGatewayClient(gateway)
  if (!lacksParameters) t.test('searches', t => testPaging(t, gateway))
  t.test('changes', t => testChanges(t, gateway, server))
  const world = await makeWorld(server, client.tenantId, refusedTypes)
  const context = { client, server, world, ...lacksParameters && { hasParameter: await readStatedParameters(server) } }
  for (const mapping of mappings.filter(({ path }) => groups?.includes(path) ?? true)) {
    t.test(mapping.path, t => testMapping(t, mapping, context))
  }
}

/** Whether the server states a search parameter, read straight from its CapabilityStatement. */
async function readStatedParameters (server: FhirServer): Promise<NonNullable<TestContext['hasParameter']>> {
  const { body } = await server.send('GET', 'metadata')
  const stated = new Set<string>(
    body.rest[0].resource.flatMap(({ type, searchParam = [] }: any) =>
      searchParam.map(({ name }: any) => `${type}?${name}`)
    )
  )
  return (type, name) => name.startsWith('_') || stated.has(`${type}?${name}`)
}
