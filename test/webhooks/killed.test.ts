import { readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { openControlStore } from '../../src/control-plane/store/store.js'
import { waitUntil } from '../harness/until.js'
import { createTemporaryDirectory } from '../sync/control-plane.js'
import { startProcess } from '../sync/processes.js'

t.setTimeout(300_000)

const toFileUrl = (name: string) => new URL(name, import.meta.url)
const count = 400
const kills = 4

t.test('however often the control plane is killed, each event is delivered, always with the same id and body', async t => {
  const bodies = new Map<string, string>()
  let requests = 0
  const faults: string[] = []
  const server = createServer({ key: readFileSync(toFileUrl('localhost-key.pem')), cert: readFileSync(toFileUrl('localhost.pem')) },
    async (request, response) => {
      requests++
      let body = ''
      for await (const chunk of request) body += String(chunk)
      const id = String(request.headers['webhook-id'])
      if ((bodies.get(id) ?? body) !== body) faults.push(id)
      bodies.set(id, body)
      await pause(5)
      response.writeHead(204).end()
    })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => { server.closeAllConnections(); server.close() })
  const data = createTemporaryDirectory(t)
  const config = join(data, 'config.json')
  const privateNetworks = ['127.0.0.0/8', '::1/128']
  writeFileSync(config, JSON.stringify({ webhooks: { privateNetworks } }))
  let control = await startProcess(t, {
    CLINIGATE_ROLE: 'control',
    CLINIGATE_DATA: data,
    CLINIGATE_CONFIG: config,
    NODE_EXTRA_CA_CERTS: toFileUrl('localhost.pem').pathname
  })
  const store = await openControlStore({
    file: join(data, 'control.db'),
    plans: ['pro'],
    now: () => new Date(),
    webhookKey: Buffer.from(readFileSync(join(data, 'webhooks.secret'), 'utf8'), 'base64'),
    receiverRules: { privateNetworks }
  })
  t.teardown(() => store.close())
  const { tenantId } = await store.organizations.create({ name: 'a', plan: 'pro' }, 'test')
  const owner = { tenantId, mode: 'live', by: 'test' } as const
  const url = `https://localhost:${(server.address() as AddressInfo).port}/`
  const { id } = await store.webhooks.create({ url }, owner)
  const ids: string[] = []
  for (let round = 0; round <= kills; round++) {
    const lines = Array.from({ length: count / (kills + 1) }, (_, at) => ({
      id: `evt_${String(round * 1_000 + at).padStart(26, '0')}`,
      tenantId,
      mode: 'live' as const,
      type: 'patients.updated',
      createdAt: new Date().toISOString(),
      resourceType: 'Patient',
      resourceId: `p${at}`,
      versionId: '2',
      requestId: 'request-1'
    }))
    ids.push(...lines.map(line => line.id))
    await store.events.append({ ledgerId: 'log', number: round + 1, batchId: `log-${round + 1}`, lines }, 'one')
    if (round === kills) break
    const before = requests
    await waitUntil(() => requests > before + 3)
    await control.end('SIGKILL')
    control = await control.again()
    // The lease of the process that was killed expires by itself; the test does not wait for that.
    await store.webhooks.change(id, owner, { description: `round ${round}` })
  }
  await waitUntil(() => bodies.size === ids.length)
  t.strictSame([...bodies.keys()].sort(), ids.sort())
  t.strictSame(faults, [])
  t.ok(requests >= ids.length, `${requests} requests for ${ids.length} events`)
})
