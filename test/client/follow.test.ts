import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { openService } from '../../src/bootstrap/service.js'
import { createClient } from '../../src/client/index.js'
import { loadConfig } from '../../src/config/load.js'
import { createMemoryLog } from '../sync/control-plane.js'

t.test('client.events.follow() continues after a restart of the server, and misses nothing', async t => {
  const directory = mkdtempSync(join(tmpdir(), 'clinigate-follow-'))
  t.after(() => rmSync(directory, { recursive: true, force: true }))
  const file = join(directory, 'config.json')
  const overload = { eventLoopDelayMs: null, heapPercent: null }
  writeFileSync(file, JSON.stringify({ events: { enabled: true }, overload }))
  const environment = { CLINIGATE_DATA: join(directory, 'data'), CLINIGATE_CONFIG: file }
  const start = async (port = 0) => {
    const { log } = createMemoryLog()
    const parts = { environment, version: '0.0.0-test', now: () => new Date(), log }
    const service = await openService(loadConfig(environment), parts)
    t.after(() => service.close())
    return { ...service, url: await service.app.listen({ host: '127.0.0.1', port }) }
  }
  const first = await start()
  const control = first.control!
  const { tenantId } = await control.organizations.create({ name: 'a', plan: 'pro' }, 'test')
  const { secret: key } = await control.keys.create({ tenantId, mode: 'test', name: 'a key' }, 'test')
  await first.catchUp()
  const client = createClient({ url: first.url, key })
  const create = async () => (await client.patients.create({ firstName: 'Ada', lastName: 'Byron' })).id
  const stopping = new AbortController()
  const followed = client.events.follow({ signal: stopping.signal })
  const readNextId = async () => ((await followed.next()).value as { data: { id: string } }).data.id
  const before = await create()
  t.equal(await readNextId(), before)
  // Sent while the server runs, and held by it until it ends.
  const waiting = readNextId()
  await first.close()
  const second = await start(Number(new URL(first.url).port))
  await second.catchUp()
  const after = [await create(), await create()]
  t.strictSame([await waiting, await readNextId()], after)
  stopping.abort()
})
