import { randomBytes, randomUUID } from 'node:crypto'
import type { Backend, BackendRequest } from '../../src/backends/backend.js'
import { decorateBackend } from '../../src/backends/decorate.js'
import { HttpBackend } from '../../src/backends/http-backend.js'
import type { HttpBackendOptions } from '../../src/backends/http-backend.js'
import { Failure } from '../../src/envelope/failures.js'
import { createCursors } from '../../src/tenant-guard/cursor.js'
import type { TenantContext, Incident } from '../../src/tenant-guard/tenant-context.js'
import { tenantGuard } from '../../src/tenant-guard/guard.js'
import type { TenantStore } from '../../src/tenant-guard/guard.js'
import { createOwnershipCache } from '../../src/tenant-guard/ownership.js'

export const system = 'urn:clinigate:tenant'

/** A gateway of its own in front of a datastore: what it sent and which incidents it saw can be read. */
export interface Gateway {
  readonly backend: Backend
  readonly sent: BackendRequest[]
  readonly incidents: Incident[]
  guard (tenantId: string, changes?: Partial<TenantContext>): TenantStore
}

const key = randomBytes(32)

export function createGateway (baseUrl: string, options: Partial<HttpBackendOptions> = {}): Gateway {
  const http = new HttpBackend({ name: 'datastore', baseUrl, retryPauseMs: 1, ...options })
  const sent: BackendRequest[] = []
  const incidents: Incident[] = []
  const backend = decorateBackend(http, {
    send: request => { sent.push(request); return http.send(request) },
    stream: request => { sent.push({ method: 'GET', path: request.path }); return http.stream(request) }
  })
  const parts = {
    backend,
    mode: 'test',
    ownership: createOwnershipCache({ max: 1000 }),
    cursors: createCursors({ key, now: () => new Date() }),
    fhirBase: 'http://gateway.test/v1/fhir',
    onIncident: (incident: Incident) => {
      incidents.push(incident)
    },
    onError: () => {}
  } as const
  return {
    backend,
    sent,
    incidents,
    guard: (id, changes) => tenantGuard({ ...parts, tenant: { id, system }, ...changes })
  }
}

/** A tenant that no other test has. */
export function newTenant (): string {
  return `t-${randomUUID()}`
}

/** The failure that came, with all that a client could see of it. */
export async function catchFailure (outcome: Promise<unknown>): Promise<Failure> {
  const error = await outcome.then(() => undefined, (thrown: unknown) => thrown)
  if (!(error instanceof Failure)) throw new Error('no failure came', { cause: error })
  return error
}

export function toPublicFailure ({ code, status, message, issues, headers }: Failure): unknown {
  return { code, status, message, issues, headers }
}
