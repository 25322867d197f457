import { setTimeout as pause } from 'node:timers/promises'
import type { Backend } from '../backends/backend.js'
import { getCapabilities, hasSearchParameter, offersAll, type Capabilities, type Offered } from '../tenant-guard/capabilities.js'

/** Timeout of a capability request, since a datastore may not respond with its capabilities. */
const timeoutMs = 2_000
/** How long a result is cached, so that a datastore that does not state its capabilities is not requested each time. */
const refreshMs = 10_000

type Known = ReadonlyArray<Capabilities | undefined>

/**
 * What all of these datastores offer, by their capabilities; one that states none is assumed to offer all.
 */
export function offeredByAll (backends: readonly Backend[], now: () => Date): () => Promise<Offered> {
  let last: { readonly requestedAt: number, readonly offered: Promise<Offered> } | undefined
  let known: Known = []
  let offered = offersAll
  const fetchOffered = async (): Promise<Offered> => {
    const stated = await Promise.all(backends.map(capabilitiesOf))
    if (stated.some((capabilities, i) => capabilities !== known[i])) offered = offeredBy(stated)
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

async function capabilitiesOf (backend: Backend): Promise<Capabilities | undefined> {
  const over = new AbortController()
  const timeout = pause(timeoutMs, undefined, { signal: over.signal }).catch(() => undefined)
  const capabilities = await Promise.race([getCapabilities(backend).catch(() => undefined), timeout])
  over.abort()
  return capabilities
}

function offeredBy (known: Known): Offered {
  const byAll = (isOffered: (capabilities: Capabilities) => boolean): boolean =>
    known.every(capabilities => capabilities === undefined || isOffered(capabilities))
  return {
    hasType: type => byAll(({ types }) => types.length === 0 || types.includes(type)),
    hasOperation: (type, name) =>
      byAll(({ operations }) => operations.has(`${type}/${name}`) || operations.has(name)),
    hasParameter: (type, name) => byAll(capabilities => hasSearchParameter(capabilities, type, name))
  }
}
