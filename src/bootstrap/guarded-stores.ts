import type { FastifyBaseLogger, FastifyRequest } from 'fastify'
import type { Config } from '../config/schema.js'
import { ensureCursorSecret } from '../config/secrets.js'
import type { ChangeSource } from '../events/log.js'
import type { ChangeOwner, ChangeRecorder } from '../events/intent.js'
import { createCursors } from '../tenant-guard/cursor.js'
import type { Scope } from '../keys/caller.js'
import { isLimited, may, simplifyScopes, type Effect, type RecordForm } from '../keys/scopes.js'
import type { TenantContext, TypeAccess } from '../tenant-guard/tenant-context.js'
import { tenantGuard, type Access, type TenantStore, type Incident, type StoredDifferences } from '../tenant-guard/guard.js'
import type { Ownership } from '../tenant-guard/ownership.js'
import type { BackendTimer } from '../http/measure-requests.js'
import type { OpenDatastores } from './datastores.js'

/** The request or job that a context is opened for. */
interface RequestContext {
  readonly id: string
  readonly log: FastifyBaseLogger
  /** Where it is measured how long it waits. */
  readonly waiting?: BackendTimer | undefined
  /** Records accesses, where they are recorded. */
  readonly accesses?: Access[] | undefined
  /** The form in which it shows records. */
  readonly form?: RecordForm
}

/** The parts of a context; `onIncident` and `onDifferences` also receive the content of the log entries. */
interface TenantContextParts {
  readonly url: string
  readonly now: () => Date
  readonly ownership: Ownership
  /** The recorder of changes; absent where there are no events. */
  readonly recorderOf?: ((source: ChangeSource) => ChangeRecorder) | undefined
  readonly onIncident?: ((incident: Incident) => void) | undefined
  readonly onDifferences?: ((differences: StoredDifferences) => void) | undefined
}

/** Whose part of a datastore is opened; without scopes the gateway itself works with it. */
interface ContextOwner extends ChangeOwner { readonly scopes?: readonly Scope[] }

/** Opens access to one tenant's part of a datastore. */
export type OpenTenantContext = (owner: ContextOwner, requestContext: RequestContext) => TenantContext

export function createTenantContextOpener (
  config: Config,
  { backendFor, onIncident: noteIncident }: Pick<OpenDatastores, 'backendFor' | 'onIncident'>,
  { url, now, ownership, recorderOf, onIncident, onDifferences }: TenantContextParts
): OpenTenantContext {
  const cursors = createCursors({ key: ensureCursorSecret(config), now })
  return (owner, { id, log, waiting, accesses, form = 'fhir' }) => ({
    backend: backendFor(owner),
    tenant: { id: owner.tenantId, system: config.tenantSystem },
    mode: owner.mode,
    ownership,
    cursors,
    requestId: id,
    ...waiting && { timer: waiting },
    ...toTypeAccess(owner.scopes, form),
    ...recorderOf && { changes: recorderOf({ owner: toChangeOwner(owner), requestId: id }) },
    fhirBase: `${url}/v1/fhir`,
    ...(accesses !== undefined && {
      onAccess: access => {
        accesses.push(access)
      }
    }),
    onIncident: incident => {
      log.error({ incident }, "isolation incident: a datastore returned data that is not the tenant's")
      noteIncident(incident.datastore)
      onIncident?.(incident)
    },
    onDifferences: differences => {
      const { datastore, type, paths } = differences
      log.warn({ datastore, type, paths }, 'a datastore stored a record differently than it was sent')
      onDifferences?.(differences)
    },
    onError: ({ code, title, cause }) => log.error({ code, err: cause }, title)
  })
}

/** The recorded fields of an owner; the caller that is passed may have many more. */
function toChangeOwner ({ tenantId, mode, plan, datastore }: ChangeOwner): ChangeOwner {
  return { tenantId, mode, plan, ...datastore !== undefined && { datastore } }
}

/** Opens, for each request, the part of its datastore that belongs to its caller's tenant. */
export function createGuardedStoreOpener (
  openTenantContext: OpenTenantContext
): (request: FastifyRequest, form: RecordForm) => TenantStore {
  return ({ caller, id, log, waiting, accesses }, form) =>
    tenantGuard(openTenantContext(caller, { id, log, waiting, accesses, form }))
}

/** The types that a key with limits may read; empty for a key without limits. */
function toTypeAccess (scopes: readonly Scope[] | undefined, form: RecordForm): { readonly access?: TypeAccess } {
  if (scopes === undefined || !isLimited(scopes, 'read')) return {}
  const isPermitted = (effect: Effect, type: string): boolean =>
    may(scopes, effect, form === 'fhir' ? { fhirType: type } : { type })
  return {
    access: {
      mayRead: type => isPermitted('read', type),
      mayReferTo: type => isPermitted('read', type) || isPermitted('write', type),
      limits: simplifyScopes(scopes).join(' ')
    }
  }
}
