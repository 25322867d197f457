import type { FastifyBaseLogger, FastifyRequest } from 'fastify'
import type { Config } from '../config.js'
import { cursorSecret } from '../config/cursor-secret.js'
import type { JobOwner } from '../jobs/job.js'
import { sealedCursors } from '../tenant-guard/cursor.js'
import type { Door } from '../tenant-guard/door.js'
import { tenantGuard, type Access, type GuardedStore, type Incident } from '../tenant-guard/guard.js'
import type { Ownership } from '../tenant-guard/ownership.js'
import type { Waiting } from '../gateway/waiting.js'
import type { OpenDatastores } from './datastores.js'

/** For what a door is opened: a request, or a job. */
interface Errand {
  readonly id: string
  readonly log: FastifyBaseLogger
  /** Where it is measured how long it waits. */
  readonly waiting?: Waiting | undefined
  /** Where somebody keeps account of accesses. */
  readonly accesses?: Access[] | undefined
}

/** What doors are made of; `onIncident` is told of each, beside the log. */
interface DoorParts {
  readonly url: string
  readonly now: () => Date
  readonly ownership: Ownership
  readonly onIncident?: ((incident: Incident) => void) | undefined
}

/** Opens the way to the part of a datastore that is one tenant's. */
export type OpenDoor = (owner: JobOwner, errand: Errand) => Door

export function doors (config: Config, { backendFor, onIncident: noteIncident }: Pick<OpenDatastores, 'backendFor' | 'onIncident'>, { url, now, ownership, onIncident }: DoorParts): OpenDoor {
  const cursors = sealedCursors({ key: cursorSecret(config), now })
  return (owner, { id, log, waiting, accesses }) => ({
    backend: waiting?.for(backendFor(owner)) ?? backendFor(owner),
    tenant: { id: owner.tenantId, system: config.tenantSystem },
    mode: owner.mode,
    ownership,
    cursors,
    requestId: id,
    fhirBase: `${url}/v1/fhir`,
    ...accesses !== undefined && { onAccess: access => { accesses.push(access) } },
    onIncident: incident => {
      log.error({ incident }, 'isolation incident: a datastore returned data that is not the tenant\'s')
      noteIncident(incident.datastore)
      onIncident?.(incident)
    },
    onTrouble: ({ code, title, cause }) => log.error({ code, err: cause }, title)
  })
}

/** Gives each request the part of its datastore that is its caller's tenant's. */
export function guardedStores (openDoor: OpenDoor): (request: FastifyRequest) => GuardedStore {
  return request => tenantGuard(openDoor(request.caller, request))
}
