/** Finds a real FHIR server for the tests that need one. There is no fourth way: without one, those tests fail. */
import { createWriteStream, mkdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { startHapi } from '../hapi/launcher.js'

const hapiLog = join(import.meta.dirname, '..', 'hapi', 'target', 'hapi.log')
const image = 'hapiproject/hapi:v8.8.0-1'
const containerStartLimitMs = 300_000
// The image has these off; the tests need a server with every feature that a client might use.
const containerEnvironment = {
  'hapi.fhir.bulk_export_enabled': 'true',
  'hapi.fhir.bulk_import_enabled': 'true',
  'hapi.fhir.graphql_enabled': 'true'
}

/**
 * The server that `given` names, else one in a container, else one by the Maven launcher.
 * @param {{ given?: string, log: (line: string) => void, signal: AbortSignal }} options
 * @returns {Promise<{ url: string, name: string, stop: () => Promise<unknown> }>} `name` says what it is and where it
 * comes from
 * @throws {Error} when there is none, or when the given one does not respond: it is never replaced by another
 */
export async function findBackend ({ given, log, signal }) {
  if (given) return describe({ url: given.replace(/\/+$/, ''), stop: async () => {} }, 'given by FHIR_TEST_URL')
  const container = await startContainer(log)
  if (container) return describe(container, `by the container image ${image}`)
  return describe(await startLoggedHapi(log, signal), 'by the Maven launcher')
}

/** Its stack traces, hundreds in a run that sends invalid requests, would bury the output of the tests. */
async function startLoggedHapi (log, signal) {
  mkdirSync(dirname(hapiLog), { recursive: true })
  const file = createWriteStream(hapiLog)
  const hapi = await startHapi({ log, said: line => file.write(`${line}\n`), settings: { log: 'ERROR' }, signal })
  hapi.ended.then(() => file.end())
  return hapi
}

/** @returns undefined where no container engine responds or the image is not available */
async function startContainer (log) {
  const { GenericContainer, Wait, getContainerRuntimeClient } = await import('testcontainers')
  try {
    await getContainerRuntimeClient()
    log(`Starting a container of ${image}`)
    const container = await new GenericContainer(image)
      .withEnvironment(containerEnvironment)
      .withExposedPorts(8080)
      .withWaitStrategy(Wait.forHttp('/fhir/metadata', 8080).withStartupTimeout(containerStartLimitMs))
      .start()
    return { url: `http://${container.getHost()}:${container.getMappedPort(8080)}/fhir`, stop: () => container.stop() }
  } catch (error) {
    log(`No container: ${error.message}`)
    return undefined
  }
}

async function describe ({ url, stop }, origin) {
  try {
    const response = await fetch(`${url}/metadata`, {
      headers: { accept: 'application/fhir+json' },
      signal: AbortSignal.timeout(60_000)
    })
    const { resourceType, software } = await response.json()
    if (resourceType !== 'CapabilityStatement') throw new Error(`no CapabilityStatement but status ${response.status}`)
    const what = [software?.name?.replace(/ Server$/, '') ?? 'an unnamed FHIR server', software?.version]
      .filter(Boolean)
      .join(' ')
    return { url, name: `${what} ${origin}`, stop }
  } catch (error) {
    await stop()
    throw new Error(`the FHIR server ${origin} does not answer as one: ${error.message}`, { cause: error })
  }
}
