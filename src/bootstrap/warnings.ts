import type { Config } from '../config/schema.js'

/**
 * Warns the operator at the start about settings that are allowed and probably unintended. Names datastores, never an
 * address.
 */
export function warnAboutConfig (config: Config, log: { warn (fields: object, message: string): void }): void {
  const shared = listLiveOnTestServer(config)
  if (shared.length > 0) {
    log.warn(
      { test: config.routing.test, live: shared },
      "test and live keys use the same FHIR server: an organization's tag does not include the mode, so its test keys can read and change its live records; configure different servers"
    )
  }
  const fetching = Object.entries(config.datastores)
    .filter(([, datastore]) => datastore.import === 'native')
    .map(([name]) => name)
  const reason = config.bulk.importUrl === undefined
    ? 'bulk.importUrl is not set'
    : config.events.enabled ? 'events.enabled is set, and a native import gives no events' : undefined
  if (fetching.length > 0 && reason !== undefined) {
    log.warn(
      { datastores: fetching },
      `these datastores have import set to own, but imports use transactions because ${reason}`
    )
  }
}

/** The datastores of live keys that are the server of the test keys, too. */
function listLiveOnTestServer ({ datastores, routing: { test, live, dedicated } }: Config): string[] {
  const identifyServer = (name: string): string => {
    const url = datastores[name]?.url
    return url === undefined ? name : new URL(url).href.replace(/\/+$/, '')
  }
  return [...new Set([live, ...Object.values(dedicated)])].filter(name => identifyServer(name) === identifyServer(test))
}
