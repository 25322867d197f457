import type { Client } from '../harness/client.js'
import type { FhirServer } from '../harness/fhir-server.js'
import type { World } from './fixture.js'

/** Where the guarantees are put to the test. */
export interface TestContext {
  readonly client: Client
  readonly server: FhirServer
  readonly world: World
  /** Whether the server has a search parameter, where it need not have all; a search by a missing one is refused. */
  readonly hasParameter?: (type: string, name: string) => boolean
}
