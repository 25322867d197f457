import { createServer, request as send } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test, type Test } from 'tap'
import { startGateway } from '../harness/gateway.js'
import { createImporter } from './importing.js'
import {
  buildMixedLines,
  startNativeDatastore,
  startNativeScene,
  type NativeManner,
  type NativeScene
} from './native-importing.js'

const storeAll: NativeManner = async (lines, store) => {
  for (const line of lines) await store(line)
  return { status: 200 }
}

/** The same import by transactions alone. */
async function runByTransactions (t: Test, lines: readonly unknown[]): Promise<NativeScene> {
  const { url } = await startNativeDatastore(t, undefined)
  const scene = await startNativeScene(t, { fhirUrl: url, lines, isUsual: true })
  await scene.run()
  return scene
}

const toKinds = ({ counted }: NativeScene): string[] =>
  counted.map(({ type, interaction, status }) => `${type} ${interaction} ${status < 400 ? 'ok' : 'error'}`).sort()

test('whatever a datastore does with a native import, each line has the result that transactions give, and is stored and counted once', async t => {
  const lines = buildMixedLines(120)
  const expected = await runByTransactions(t, lines)
  const manners: Readonly<Record<string, NativeManner | undefined>> = {
    'stores all': storeAll,
    'stores all and says that it failed': async (received, store) => {
      await storeAll(received, store)
      return { status: 500 }
    },
    'leaves out every third and says that all is well': async (received, store) =>
      await storeAll(
        received.filter((_, at) => at % 3 !== 0),
        store
      ),
    'stores nothing and says that all is well': async () => ({ status: 200 }),
    'stores the half and forgets the import': async (received, store) => {
      await storeAll(received.slice(0, received.length / 2), store)
      return { status: 404 }
    },
    'offers no import': undefined
  }
  for (const [name, manner] of Object.entries(manners)) {
    const { url, fetched } = await startNativeDatastore(t, manner)
    const scene = await startNativeScene(t, { fhirUrl: url, lines, max: 30 })
    t.equal(await scene.run(), 'ended', name)
    t.same(scene.readResults(), expected.readResults(), `${name}: the same results`)
    for (const type of ['Patient', 'Observation']) {
      t.equal(await scene.countRecords(type), await expected.countRecords(type), `${name}: ${type}`)
    }
    t.same(toKinds(scene), toKinds(expected), `${name}: counted once`)
    t.equal(scene.held(), 0, `${name}: nothing stays taken from the month`)
    if (manner === undefined) continue
    t.ok(scene.begun() > 2, `${name}: portions after each other`)
    t.ok(
      fetched.every(line => line.includes('urn:clinigate:tenant')),
      `${name}: what is fetched is marked`
    )
    t.equal(new Set(fetched).size, fetched.length)
  }
})

test('a native import that is interrupted anywhere and resumed ends as one without interruption', async t => {
  const lines = buildMixedLines(120)
  const expected = await runByTransactions(t, lines)
  for (const stride of [1, 5, 11]) {
    const { url } = await startNativeDatastore(t, storeAll)
    const scene = await startNativeScene(t, { fhirUrl: url, lines, max: 30 })
    let breaks = 0
    for (let steps = stride; (await scene.run(steps)) === 'broken off'; steps += stride) breaks++
    t.ok(breaks > 0, `broken off ${breaks} times`)
    t.same(scene.readResults(), expected.readResults())
    for (const type of ['Patient', 'Observation']) t.equal(await scene.countRecords(type), await expected.countRecords(type), type)
    t.same(toKinds(scene), toKinds(expected))
  }
})

test('changes of records and a dry run never go through a datastore\'s native import', async t => {
  const { url, fetched } = await startNativeDatastore(t, storeAll)
  const lines = buildMixedLines(60)
  const dry = await startNativeScene(t, { fhirUrl: url, lines, dryRun: true })
  await dry.run()
  t.equal(dry.begun(), 0)
  const first = await startNativeScene(t, { fhirUrl: url, lines })
  await first.run()
  t.ok(first.begun() > 0)
  const before = fetched.length
  const again = await startNativeScene(t, { fhirUrl: url, lines })
  await again.run()
  t.equal(again.begun(), 0)
  t.equal(fetched.length, before)
  t.same(again.readResults().map(({ id }) => id), first.readResults().map(({ id }) => id))
  t.ok(again.readResults().every(({ status }) => ['updated', 'unchanged', 'failed'].includes(status)))
})

test('an import that is left while the datastore fetches serves its files no more', async t => {
  const left = new AbortController()
  let url: string | undefined
  const { url: fhirUrl } = await startNativeDatastore(t, async () => {
    left.abort(new Error('cancelled'))
    return undefined
  })
  const scene = await startNativeScene(t, { fhirUrl, lines: buildMixedLines(60) })
  const offer = scene.offers.offer.bind(scene.offers)
  const authorization = { value: '' }
  scene.offers.offer = files => {
    const made = offer(files)
    url = made.files[0]!.url
    authorization.value = `Basic ${Buffer.from(made.credentials).toString('base64')}`
    return made
  }
  await t.rejects(scene.run(Infinity, left.signal))
  t.equal((await fetch(url!, { headers: { authorization: authorization.value } })).status, 404)
  t.equal(scene.held(), 0)
})

/** A proxy whose URL is known before the gateway's own is. */
async function startRoad (
  t: Test
): Promise<{ readonly url: string; readonly to: { url?: string }; readonly requested: string[] }> {
  const to: { url?: string } = {}
  const requested: string[] = []
  const server = createServer((request, response) => {
    requested.push(request.url!)
    request.pipe(
      send(
        new URL(request.url!, to.url),
        { method: request.method!, headers: { ...request.headers, host: new URL(to.url!).host } },
        received => {
          response.writeHead(received.statusCode!, received.headers)
          received.pipe(response)
        }
      )
    )
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, to, requested }
}

test('with events enabled, the native import is not used: each line is an event', async t => {
  const { url, fetched } = await startNativeDatastore(t, async () => ({ status: 200 }))
  const gateway = await startGateway(t, {
    config: {
      datastores: { test: { url, import: 'native' } }, bulk: { importUrl: 'http://127.0.0.1:1' }, events: { enabled: true }
    }
  })
  const { secret } = await gateway.createKey()
  const client = createImporter(gateway, secret)
  const { job } = await client.run([...Array(1_050).keys()].map(at => ({ resourceType: 'Patient', id: `p${at}` })))
  t.match(job, { status: 'completed', processedRecords: 1_050, failedRecords: 0 })
  t.equal(fetched.length, 0)
  const ids = new Set<string>()
  for (let cursor = ''; ids.size < 1_050;) {
    const { body } = await client.get(`/events?count=100&wait=10${cursor}`)
    if (body.data.data.length === 0) break
    cursor = `&cursor=${body.data.cursor}`
    for (const event of body.data.data) ids.add(event.data.id)
  }
  t.equal(ids.size, 1_050)
})

test('with bulk.importUrl a datastore fetches new records from the gateway, and no log has the URL', async t => {
  const { url, fetched } = await startNativeDatastore(t, async (lines, store) => {
    for (let at = 0; at < lines.length; at += 20) await Promise.all(lines.slice(at, at + 20).map(store))
    return { status: 200 }
  })
  const road = await startRoad(t)
  const gateway = await startGateway(t, {
    config: { datastores: { test: { url, import: 'native' } }, bulk: { importUrl: road.url } }
  })
  road.to.url = gateway.url
  const client = createImporter(gateway, (await gateway.createKey()).secret)
  const { job, results } = await client.run(
    [...Array(1_050).keys()].map(at => ({ resourceType: 'Patient', id: `p${at}` }))
  )
  t.match(job, { status: 'completed', processedRecords: 1_050, failedRecords: 0 })
  t.ok(results.every(({ status }) => status === 'created'))
  t.equal(fetched.length, 1_050)
  t.equal((await client.get('/fhir/Patient?_summary=count')).body.total, 1_050)
  const [path] = road.requested as [string]
  t.match(path, /^\/bulk-import\/[\w-]{43}\/Patient\.ndjson$/)
  for (const method of ['GET', 'HEAD', 'POST']) { t.not((await fetch(gateway.url + path, { method })).status, 200, method) }
  t.notMatch(JSON.stringify(gateway.logged()), path.split('/')[2]!)
})

test('without bulk.importUrl the gateway has no such route', async t => {
  const gateway = await startGateway(t)
  const response = await fetch(`${gateway.url}/bulk-import/${'a'.repeat(43)}/Patient.ndjson`)
  t.match({ status: response.status, body: await response.json() }, { status: 404, body: { code: 'NOT_FOUND' } })
})
