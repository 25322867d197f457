import { setTimeout as pause } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { waitUntil } from '../harness/until.js'
import { runDocker } from './engine.js'
import {
  bringUp, prepare, requireHardened, requireSecretsHidden, printLine, waitUntilHealthy, type SetUp
} from './set-up.js'

t.setTimeout(1_200_000)

const gateways = ['gateway-1', 'gateway-2'] as const
const ours = [...gateways, 'control']

t.test('docker/compose.scale.yaml: two gateways, a control plane, Redis, PostgreSQL and two datastores', async t => {
  const setUp = await prepare(t, 'compose.scale.yaml')
  const { url, clinigate } = setUp
  const began = Date.now()
  // As the comment at the top of the file says.
  const printed = await setUp.compose('run', '--rm', '-T', 'control', 'tokens', 'create', '--role', 'gateway', '--name', 'gateways')
  setUp.writeSecret('gateway-token', (JSON.parse(printed) as { secret: string }).secret)
  const times = await bringUp(setUp)
  t.strictSame([...times.keys()].toSorted(), ['control', 'gateway-1', 'gateway-2', 'postgres', 'proxy', 'redis'])
  for (const service of gateways) await waitUntilHealthy(await findUrl(setUp, service))
  printLine(`compose.scale.yaml: ${[...times].map(([service, seconds]) => `${service} healthy after ${seconds.toFixed(0)} s`).join(', ')}`)
  printLine(`compose.scale.yaml: all answer after ${Math.round((Date.now() - began) / 1_000)} s`)
  const { tenantId = '' } = await clinigate('control', 'orgs', 'create', '--name', 'clinic', '--plan', 'enterprise')
  const createKey = async (): Promise<Record<string, string>> =>
    await clinigate('control', 'keys', 'create', '--tenant', tenantId, '--mode', 'test')
  const { secret: key = '' } = await createKey()
  await waitUntil(async () => (await fetchStatus(url, key)) === 200)

  await t.test('containers have a read-only root, no capability and no root user', t =>
    requireHardened(t, setUp, [...ours, 'proxy', 'redis', 'hapi-test', 'hapi-live'])
  )
  await t.test('a revoked key is refused by both gateways within a second', async t => {
    await revoke(t, setUp, await createKey())
  })
  await t.test('gateways and the control plane are replaced one after the other under load, and no request fails', async t => {
    await replaceUnderLoad(t, setUp, [key, (await createKey()).secret!, (await createKey()).secret!])
  })
  await t.test('an import continues at the other gateway when the container of the first is killed', t =>
    killDuringImport(t, setUp, key)
  )
  await t.test('no secret is in docker inspect, in the logs or in the history', t => requireSecretsHidden(t, setUp))
  for (const line of (await runDocker('stats', '--no-stream', '--format', '{{.Name}} {{.MemUsage}}')).trim().split('\n')) {
    if (/gateway|control|proxy|redis/.test(line)) printLine(line)
  }
  await t.test('all services end by themselves on SIGTERM', async t => {
    await setUp.compose('stop')
    for (const service of [...ours, 'redis']) {
      t.match((await setUp.inspect(service)).State, { ExitCode: 0, OOMKilled: false }, service)
    }
  })
})

/** The address of a gateway's container, which this machine reaches past the proxy. */
async function findUrl ({ inspect }: SetUp, service: string): Promise<string> {
  const edge = Object.entries((await inspect(service)).NetworkSettings.Networks).find(([name]) => name.endsWith('_edge'))!
  return `http://${edge[1].IPAddress}:8080`
}

async function fetchStatus (url: string, key: string): Promise<number> {
  const response = await fetch(`${url}/v1/patients?count=1`, { headers: { 'x-api-key': key } })
  await response.arrayBuffer()
  return response.status
}

async function revoke (t: Test, setUp: SetUp, { keyId, secret = '' }: Record<string, string>): Promise<void> {
  const urls = await Promise.all(gateways.map(async service => await findUrl(setUp, service)))
  for (const url of urls) await waitUntil(async () => (await fetchStatus(url, secret)) === 200)
  const { secret: token } = await setUp.clinigate('control', 'tokens', 'create', '--role', 'operator', '--name', 'test')
  const response = await fetch(`${setUp.url}/control/v1/keys/${keyId}/revoke`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}` }
  })
  t.equal(response.status, 200)
  const revoked = Date.now()
  const after = await Promise.all(urls.map(async url => {
    await waitUntil(async () => (await fetchStatus(url, secret)) === 401, 20)
    return Date.now() - revoked
  }))
  printLine(`a revoked key was refused after ${after.join(' and ')} ms`)
  t.ok(Math.max(...after) <= 1_000, `${after.join(', ')} ms`)
}

async function replaceUnderLoad (t: Test, setUp: SetUp, keys: readonly string[]): Promise<void> {
  const stopping = new AbortController()
  const counts = { answered: 0, failures: [] as string[] }
  const clients = keys.map(async (key, client) => {
    for (let i = 0; !stopping.signal.aborted; i++) {
      const outcome = await (i % 3 === 0 ? create(setUp.url, key, `Load ${client} ${i}`) : fetchStatus(setUp.url, key))
        .catch(error => String(error.cause ?? error))
      if (outcome === 200 || outcome === 201) counts.answered++
      else counts.failures.push(`client ${client}: ${outcome}`)
    }
  })
  try {
    for (const service of ours) {
      const before = counts.answered
      const began = Date.now()
      // As docs/how-to/containers.md says, but for the image, which is the same here.
      await setUp.compose('up', '--no-build', '--detach', '--no-deps', '--force-recreate', '--wait', service)
      printLine(`${service} was replaced in ${((Date.now() - began) / 1_000).toFixed(0)} s, ` +
        `${counts.answered - before} requests were answered meanwhile`)
    }
    await pause(3_000)
  } finally {
    stopping.abort()
    await Promise.all(clients)
  }
  t.ok(counts.answered > 50, `${counts.answered} requests`)
  t.strictSame(counts.failures, [])
}

async function create (url: string, key: string, lastName: string): Promise<number> {
  const response = await fetch(`${url}/v1/patients`, {
    method: 'POST',
    headers: { 'x-api-key': key, 'content-type': 'application/json' },
    body: JSON.stringify({ firstName: 'Ada', lastName })
  })
  await response.arrayBuffer()
  return response.status
}

async function killDuringImport (t: Test, setUp: SetUp, key: string): Promise<void> {
  const count = 2_000
  const headers = { 'x-api-key': key }
  const [first = '', second = ''] = await Promise.all(gateways.map(async service => await findUrl(setUp, service)))
  const lines = Array.from({ length: count }, (_, i) => JSON.stringify({ firstName: `Name ${i}`, lastName: 'Handed' }))
  const posted = await fetch(`${first}/v1/bulk/import?resourceType=Patient`, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/x-ndjson' },
    body: lines.join('\n')
  })
  t.equal(posted.status, 202)
  const { data: { jobId } } = await posted.json() as { data: { jobId: string } }
  const fetchJob = async (): Promise<{ status: string, processedRecords: number }> =>
    (await (await fetch(`${second}/v1/bulk/jobs/${jobId}`, { headers })).json() as { data: never }).data
  const isProcessing = async (): Promise<boolean> => {
    await pause(50)
    const { status, processedRecords } = await fetchJob()
    if (status === 'completed' || status === 'failed') throw new Error(`it is ${status} before its gateway was killed`)
    return processedRecords > 0
  }
  await waitUntil(isProcessing)
  await setUp.compose('kill', 'gateway-1')
  const killed = Date.now()
  const { processedRecords } = await fetchJob()
  t.ok(processedRecords < count)
  await waitUntil(async () => {
    await pause(200)
    return (await fetchJob()).status === 'completed'
  }, 240)
  printLine(`an import of ${count} lines, killed after ${processedRecords}, ended ${Math.round((Date.now() - killed) / 1_000)} s later`)
  t.match(await fetchJob(), { totalRecords: count, processedRecords: count, failedRecords: 0 })
  const results = (await (await fetch(`${second}/v1/bulk/jobs/${jobId}/results`, { headers })).text()).trimEnd().split('\n')
    .map(line => JSON.parse(line) as { line: number, id: string })
  t.strictSame(results.map(({ line }) => line), lines.map((_, i) => i + 1))
  t.equal(new Set(results.map(({ id }) => id)).size, count)
  const found = await fetch(`${setUp.url}/v1/patients?lastName=Handed&count=1`, { headers })
  t.match(await found.json(), { data: { total: count } }, 'none is missing and none is there twice')
  await setUp.compose('start', 'gateway-1')
  await waitUntilHealthy(await findUrl(setUp, 'gateway-1'))
}
