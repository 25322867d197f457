import { once } from 'node:events'
import { request } from 'node:http'
import t, { type Test } from 'tap'
import { runReadme } from '../e2e/readme.js'
import { waitUntil } from '../harness/until.js'
import { runDocker } from './engine.js'
import {
  bringUp, prepare, requireHardened, requireSecretsHidden, printLine, waitUntilHealthy, type SetUp
} from './set-up.js'

t.setTimeout(900_000)

t.test("docker/compose.yaml: the README's steps work on one machine, with records in HAPI and PostgreSQL", async t => {
  const setUp = await prepare(t, 'compose.yaml')
  const began = Date.now()
  const times = await bringUp(setUp)
  t.strictSame([...times.keys()].toSorted(), ['clinigate', 'postgres'])
  await waitUntilHealthy(setUp.url)
  printLine(`compose.yaml: ${[...times].map(([service, seconds]) => `${service} healthy after ${seconds.toFixed(0)} s`).join(', ')}`)
  printLine(`compose.yaml: both datastores answer after ${Math.round((Date.now() - began) / 1_000)} s`)
  const key = /svc_test_\w+/.exec(await setUp.compose('logs', '--no-color', 'clinigate'))![0]

  await runReadme(t, {
    url: setUp.url,
    key,
    command: async line => await setUp.clinigate('clinigate', ...line.split(' ').slice(2))
  })
  t.equal((await fetch(`${setUp.url}/dashboard/sign-in`)).status, 200)
  await t.test('containers have a read-only root, no capability and no root user', async t => {
    await requireHardened(t, setUp, ['clinigate', 'hapi-test', 'hapi-live'])
    t.match(await readProcessStatus(setUp), { CapEff: '0000000000000000', CapBnd: '0000000000000000', NoNewPrivs: '1' })
  })
  await t.test('datastores are in a network without a way out, and none of their ports is open', async t => {
    for (const service of ['hapi-test', 'hapi-live', 'postgres']) {
      const networks = Object.keys((await setUp.inspect(service)).NetworkSettings.Networks)
      t.equal(networks.length, 1)
      t.equal((await runDocker('network', 'inspect', '--format', '{{.Internal}}', networks[0]!)).trim(), 'true')
    }
    const published = await setUp.compose('ps', '--format', '{{.Service}} {{.Publishers}}')
    t.strictSame(published.split('\n').filter(line => line.includes('127.0.0.1')).map(line => line.split(' ')[0]), ['clinigate'])
    t.notMatch(published, /0\.0\.0\.0|\[::\]/)
  })
  await t.test('no secret is in docker inspect, in the logs or in the history', t => requireSecretsHidden(t, setUp))
  await t.test('SIGTERM: a request under way is completed, and the record is there after the next start', t =>
    stopInTheMiddle(t, setUp, key)
  )
})

/** The kernel's status of the gateway's process, read in its container. */
async function readProcessStatus ({ compose }: SetUp): Promise<Record<string, string>> {
  const text = await compose('exec', '-T', 'clinigate', '/nodejs/bin/node', '-p', 'fs.readFileSync("/proc/1/status", "utf8")')
  return Object.fromEntries([...text.matchAll(/^(\w+):\s*(.*)$/gm)].map(([, name, value]) => [name!, value!]))
}

async function stopInTheMiddle (t: Test, { url, compose, inspect }: SetUp, key: string): Promise<void> {
  const body = JSON.stringify({ firstName: 'Grace', lastName: 'Underway' })
  const headers = { 'x-api-key': key, 'content-type': 'application/json' }
  const sent = request(`${url}/v1/patients`, {
    method: 'POST',
    headers: { ...headers, 'content-length': Buffer.byteLength(body) }
  })
  sent.write(body.slice(0, 10))
  // A later request is served, so the first part has arrived.
  t.equal((await fetch(`${url}/v1/patients?count=1`, { headers })).status, 200)
  const stopped = compose('stop', 'clinigate')
  await waitUntil(async () => await fetch(`${url}/health/ready`).then(({ status }) => status !== 200, () => true))
  sent.end(body.slice(10))
  const [response] = await once(sent, 'response')
  response.resume()
  t.equal(response.statusCode, 201)
  await stopped
  t.match((await inspect('clinigate')).State, { Status: 'exited', ExitCode: 0, OOMKilled: false })

  await compose('start', 'clinigate')
  await waitUntilHealthy(url)
  const found = await (await fetch(`${url}/v1/patients?lastName=Underway`, { headers })).json() as { data: { total: number } }
  t.equal(found.data.total, 1)
}
