import type { Backend } from '../backends/backend.js'
import { Breaker } from '../backends/breaker.js'
import type { Disposables } from './disposables.js'
import type { ServiceParts } from './parts.js'

/** The circuit breakers of the datastores, by their names. */
export type CircuitBreakers = Readonly<Record<string, Breaker>>

/** Opens a breaker for each datastore, so that one that is down does not affect another. */
export function openCircuits (
  backends: readonly Backend[],
  log: ServiceParts['log'],
  closers: Disposables
): CircuitBreakers {
  return Object.fromEntries(
    backends.map(backend => [
      backend.name,
      closers.add(
        new Breaker({
          probe: () => backend.probe(),
          onChange: state => {
            if (state === 'open') {
              log.error(
                { datastore: backend.name },
                'a datastore does not answer; its requests are refused until it does'
              )
            } else log.info({ datastore: backend.name }, 'a datastore answers again')
          }
        })
      )
    ])
  )
}
