import type { FastifyBaseLogger, FastifyRequest } from 'fastify'
import type { Config } from '../config.js'
import { cursorSecret } from '../config/cursor-secret.js'
import type { JobOwner } from '../jobs/job.js'
import { sealedCursors } from '../tenant-guard/cursor.js'
import type { Door } from '../tenant-guard/door.js'
import { tenantGuard, type GuardedStore } from '../tenant-guard/guard.js'
import { ownershipCache } from '../tenant-guard/ownership.js'
import type { OpenDatastores } from './datastores.js'

/** For what a door is opened: a request, or a job. */
export interface Errand { readonly id: string, readonly log: FastifyBaseLogger }

/** Opens the way to the part of a datastore that is one tenant's. */
export type OpenDoor = (owner: JobOwner, errand: Errand) => Door

export function doors (config: Config, { backendFor }: OpenDatastores, { url, now }: { readonly url: string, readonly now: () => Date }): OpenDoor {
  const ownership = ownershipCache()
  const cursors = sealedCursors({ key: cursorSecret(config), now })
  return (owner, { id, log }) => ({
    backend: backendFor(owner),
    tenant: { id: owner.tenantId, system: config.tenantSystem },
    mode: owner.mode,
    ownership,
    cursors,
    requestId: id,
    fhirBase: `${url}/v1/fhir`,
    onIncident: incident => log.error({ incident }, 'isolation incident: a datastore answered with what is not the tenant\'s'),
    onTrouble: ({ code, title, cause }) => log.error({ code, err: cause }, title)
  })
}

/** Gives each request the part of its datastore that is its caller's tenant's. */
export function guardedStores (openDoor: OpenDoor): (request: FastifyRequest) => GuardedStore {
  return request => tenantGuard(openDoor(request.caller, request))
}
