// The gateway and its peers, all in front of the same stub, and the requests of their load.
import { start, startGateway } from './processes.js'
import { patch, buildRecord, buildSimpleRecord, transaction } from './records.js'

/** The peer that all others are compared with. */
export const bare = '@fastify/http-proxy'

/**
 * Starts the gateway, a stub behind it, and peers in front of the same stub.
 * @param options `peers`: their names; `flags` of Node.js for the gateway
 * @returns by name: base URL, process id and headers; the gateway once for each of its interfaces
 */
export async function startContestants ({ peers, flags = [] }) {
  const startStub = async tenantId => (await start('bench/stub-upstream.js', [tenantId])).line
  const gateway = await startGateway(startStub, { flags })
  const headers = { 'x-api-key': gateway.secret }
  const contestants = {}
  for (const name of peers) contestants[name] = await starters[name](gateway.upstream)
  return {
    ...contestants,
    'clinigate raw': { url: `${gateway.url}/v1/fhir`, pid: gateway.pid, headers },
    'clinigate simple': { url: `${gateway.url}/v1`, pid: gateway.pid, headers }
  }
}

const createStarter = name => async upstream => {
  const { line, pid } = await start(name, [upstream])
  return { url: line, pid }
}

const starters = {
  'Node http + undici': createStarter('bench/bare-http.js'),
  [bare]: createStarter('bench/bare-proxy.js'),
  'google/fhir-gateway': async upstream => (await import('./fhir-gateway/start.js')).startFhirGateway(upstream)
}

/** The names of all peers. */
export const allPeers = Object.keys(starters)

const buildRawRequest = (method, path, body, type = 'application/fhir+json') => ({ method, path, type, body })
const buildSimpleRequest = (method, path, body) => ({ method, path, type: 'application/json', body })

/** The request of each kind of work, by interface; `simple` where it exists. A body is built for each request. */
const works = {
  read: { raw: buildRawRequest('GET', '/Patient/p0'), simple: buildSimpleRequest('GET', '/patients/p0') },
  ...Object.fromEntries(
    [1, 10, 20, 50, 100, 500].map(count => [
      `search of ${count}`,
      {
        raw: buildRawRequest('GET', `/Patient?_count=${count}`),
        simple: buildSimpleRequest('GET', `/patients?count=${Math.min(count, 100)}`)
      }
    ])
  ),
  'create with two references': {
    raw: buildRawRequest('POST', '/Observation', buildRecord),
    simple: buildSimpleRequest('POST', '/observations', buildSimpleRecord)
  },
  'patch of one field': {
    raw: buildRawRequest('PATCH', '/Patient/p0', () => patch, 'application/json-patch+json'),
    simple: buildSimpleRequest('PATCH', '/patients/p0', () => ({ birthDate: '1990-03-15' }))
  },
  'transaction of 20': { raw: buildRawRequest('POST', '', () => transaction) }
}

/** Every real client sends an Accept header. */
const accepted = { raw: 'application/fhir+json', simple: 'application/json' }

/**
 * The options of autocannon for a contestant and a kind of work; undefined where the contestant has no such interface.
 */
export function buildTarget (contestants, name, work) {
  const { url, pid, headers } = contestants[name]
  const form = name === 'clinigate simple' ? 'simple' : 'raw'
  const request = works[work][form]
  if (request === undefined) return undefined
  const { method, path, type, body } = request
  const sent = {
    method, headers: { ...headers, accept: accepted[form], ...body !== undefined && { 'content-type': type } }
  }
  if (body === undefined) return { url: `${url}${path}`, pid, ...sent }
  const setupRequest = made => ({ ...made, body: JSON.stringify(body()) })
  return { url: `${url}${path}`, pid, ...sent, requests: [{ setupRequest }] }
}
