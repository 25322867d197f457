import type { Client } from '../harness/client.js'
import type { FhirServer } from '../harness/fhir-server.js'
import type { World } from './fixture.js'

/** The server on which the contract is tested. */
export interface TestContext {
  readonly client: Client
  readonly server: FhirServer
  readonly world: World
  /** Whether the server has a search parameter, where it need not have all; a search by a missing one is rejected. */
  readonly hasParameter?: (type: string, name: string) => boolean
}
