import { setTimeout as pause } from 'node:timers/promises'
import type { Backend } from '../backends/backend.js'
import type { HasOperation } from '../api/passthrough/capability-rest.js'
import { getCapabilities, type Capabilities } from '../tenant-guard/capabilities.js'

/** Timeout of a capability request, since a datastore may not respond with its capabilities. */
const timeoutMs = 2_000
/** How long a result is cached, so that a datastore that does not state its capabilities is not requested each time. */
const refreshMs = 10_000

type Known = ReadonlyArray<Capabilities | undefined>

/**
 * Which operations all of these datastores offer, by their capabilities; one that states none is assumed to offer all.
 */
export function supportedOperations (backends: readonly Backend[], now: () => Date): () => Promise<HasOperation> {
  let last: { readonly requestedAt: number, readonly offered: Promise<HasOperation> } | undefined
  let known: Known = []
  let offered: HasOperation = () => true
  const fetchOperations = async (): Promise<HasOperation> => {
    const stated = await Promise.all(backends.map(operationsOf))
    if (stated.some((capabilities, i) => capabilities !== known[i])) offered = offeredBy(stated)
    known = stated
    return offered
  }
  return async () => {
    const at = now().getTime()
    if (last === undefined || Math.abs(at - last.requestedAt) >= refreshMs) {
      last = { requestedAt: at, offered: fetchOperations() }
    }
    return await last.offered
  }
}

async function operationsOf (backend: Backend): Promise<Capabilities | undefined> {
  const over = new AbortController()
  const timeout = pause(timeoutMs, undefined, { signal: over.signal }).catch(() => undefined)
  const capabilities = await Promise.race([getCapabilities(backend).catch(() => undefined), timeout])
  over.abort()
  return capabilities
}

function offeredBy (known: Known): HasOperation {
  return (type, name) =>
    known.every(
      capabilities =>
        capabilities === undefined ||
        capabilities.operations.has(`${type}/${name}`) ||
        capabilities.operations.has(name)
    )
}
