import type { FastifyBaseLogger } from 'fastify'
import type { Backend } from '../backends/backend.js'
import { BackgroundTask } from '../time/background-task.js'
import { getCapabilities, type Capabilities } from '../tenant-guard/capabilities.js'

const retryMs = 60_000
const dayMs = 86_400_000

/**
 * Requests the capabilities of each datastore in the background and logs them; an unavailable one is requested again.
 */
export function logCapabilities (backends: readonly Backend[], log: FastifyBaseLogger): { close (): Promise<void> } {
  const loops = backends.map(backend => {
    let summary = ''
    return new BackgroundTask(async stopping => {
      const capabilities = await unlessLeft(requested(backend), stopping)
      if (capabilities === undefined) return retryMs
      const { software, fhirVersion, hasExport } = capabilities
      const text = JSON.stringify([software, fhirVersion, hasExport])
      if (text !== summary) logChange(backend.name, capabilities, log)
      summary = text
      return dayMs
    })
  })
  return { close: async () => { await Promise.all(loops.map(loop => loop.stop())) } }
}

/** The capabilities; undefined if the datastore does not respond, which the health checks report. */
async function requested (backend: Backend): Promise<Capabilities | undefined> {
  return await getCapabilities(backend).catch(() => undefined)
}

/** The result of the work, or undefined as soon as `leaving` aborts. */
function unlessLeft<T> (work: Promise<T>, leaving: AbortSignal): Promise<T | undefined> {
  return new Promise(resolve => {
    const leave = (): void => resolve(undefined)
    leaving.addEventListener('abort', leave)
    // The signal is that of all turns.
    work.then(resolve).finally(() => leaving.removeEventListener('abort', leave))
  })
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
