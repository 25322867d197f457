import type { FastifyBaseLogger } from 'fastify'
import type { Backend } from '../backends/backend.js'
import { diagnose } from '../backends/diagnose.js'
import { BackgroundTask } from '../time/background-task.js'
import { untilAborted, withTimeout } from '../time/with-timeout.js'
import {
  getCapabilities, hasSearchParameter, offersAll, type Capabilities, type Offered
} from '../tenant-guard/capabilities.js'

const retryMs = 60_000
const dayMs = 86_400_000

/**
 * Requests the capabilities of each datastore in the background and logs them. One that cannot be used is logged once,
 * with the setting to check, and requested again.
 */
export function logCapabilities (backends: readonly Backend[], log: FastifyBaseLogger): { close (): Promise<void> } {
  const loops = backends.map(backend => {
    let summary = ''
    return new BackgroundTask(async stopping => {
      const capabilities = await untilAborted(requestCapabilities(backend), stopping)
      if (capabilities === undefined) return retryMs
      if (capabilities instanceof Unusable) {
        if (capabilities.reason !== summary) logUnusable(backend.name, capabilities, log)
        summary = capabilities.reason
        return retryMs
      }
      const { software, fhirVersion, hasExport } = capabilities
      const text = JSON.stringify([software, fhirVersion, hasExport])
      if (text !== summary) logChange(backend.name, capabilities, log)
      summary = text
      return dayMs
    })
  })
  return { close: async () => { await Promise.all(loops.map(loop => loop.stop())) } }
}

/** Why a datastore cannot be used, and the setting to check if one is known. */
class Unusable {
  constructor (readonly reason: string, readonly remedy?: string) {}
}

async function requestCapabilities (backend: Backend): Promise<Capabilities | Unusable> {
  return await getCapabilities(backend).catch((error: unknown) => {
    const { reason = 'it does not respond properly', remedy } = diagnose(error) ?? {}
    return new Unusable(reason, remedy)
  })
}

function logUnusable (datastore: string, { reason, remedy }: Unusable, log: FastifyBaseLogger): void {
  log.warn({ datastore, reason, remedy }, 'a datastore cannot be used; clinigate doctor tests it')
}

function logChange (
  datastore: string,
  { software, fhirVersion, hasExport }: Capabilities,
  log: FastifyBaseLogger
): void {
  const logged = { datastore, software, fhirVersion, hasExport }
  if (/^4\.0\./.test(fhirVersion ?? '')) {
    log.info(logged, 'a datastore reported its capabilities; clinigate doctor tests them')
  } else log.warn(logged, 'a datastore does not report FHIR 4.0; run clinigate doctor')
}

/** Timeout of a capability request, since a datastore may not respond with its capabilities. */
const timeoutMs = 2_000
/** How long a result is cached, so that a datastore that does not state its capabilities is not requested each time. */
const refreshMs = 10_000

type StatedCapabilities = ReadonlyArray<Capabilities | undefined>

/** The common capabilities of all of these datastores; one that states none is assumed to have all. */
export function cacheCommonCapabilities (backends: readonly Backend[], now: () => Date): () => Promise<Offered> {
  let last: { readonly requestedAt: number, readonly offered: Promise<Offered> } | undefined
  let known: StatedCapabilities = []
  let offered = offersAll
  const fetchOffered = async (): Promise<Offered> => {
    const stated = await Promise.all(backends.map(fetchCapabilities))
    if (stated.some((capabilities, i) => capabilities !== known[i])) offered = intersectCapabilities(stated)
    known = stated
    return offered
  }
  return async () => {
    const at = now().getTime()
    if (last === undefined || Math.abs(at - last.requestedAt) >= refreshMs) {
      last = { requestedAt: at, offered: fetchOffered() }
    }
    return await last.offered
  }
}

async function fetchCapabilities (backend: Backend): Promise<Capabilities | undefined> {
  return await withTimeout(getCapabilities(backend).catch(() => undefined), timeoutMs, undefined)
}

function intersectCapabilities (known: StatedCapabilities): Offered {
  const isOfferedByAll = (isOffered: (capabilities: Capabilities) => boolean): boolean =>
    known.every(capabilities => capabilities === undefined || isOffered(capabilities))
  return {
    hasType: type => isOfferedByAll(({ types }) => types.length === 0 || types.includes(type)),
    hasOperation: (type, name) =>
      isOfferedByAll(({ operations }) => operations.has(`${type}/${name}`) || operations.has(name)),
    hasParameter: (type, name) => isOfferedByAll(capabilities => hasSearchParameter(capabilities, type, name))
  }
}
