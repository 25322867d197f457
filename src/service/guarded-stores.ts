import type { FastifyRequest } from 'fastify'
import type { Config } from '../config.js'
import { cursorSecret } from '../config/cursor-secret.js'
import { sealedCursors } from '../tenant-guard/cursor.js'
import { tenantGuard, type GuardedStore } from '../tenant-guard/guard.js'
import { ownershipCache } from '../tenant-guard/ownership.js'
import type { OpenDatastores } from './datastores.js'

/** Gives each request the part of its datastore that is its caller's tenant's. */
export function guardedStores (config: Config, { backendFor }: OpenDatastores, { url, now }: { readonly url: string, readonly now: () => Date }): (request: FastifyRequest) => GuardedStore {
  const ownership = ownershipCache()
  const cursors = sealedCursors({ key: cursorSecret(config), now })
  return ({ caller, id, log }) => tenantGuard({
    backend: backendFor(caller),
    tenant: { id: caller.tenantId, system: config.tenantSystem },
    mode: caller.mode,
    ownership,
    cursors,
    requestId: id,
    fhirBase: `${url}/v1/fhir`,
    onIncident: incident => log.error({ incident }, 'isolation incident: a datastore answered with what is not the tenant\'s'),
    onTrouble: ({ code, title, cause }) => log.error({ code, err: cause }, title)
  })
}
