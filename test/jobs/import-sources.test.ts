import { readFileSync, rmSync } from 'node:fs'
import { createServer, type Server } from 'node:https'
import type { AddressInfo } from 'node:net'
import { gzipSync } from 'node:zlib'
import { test, type Test } from 'tap'
import { fetchSource, parseSourceUrl, type SourceRules } from '../../src/jobs/import/fetch-sources.js'
import { indexFile } from '../../src/jobs/import/import-job.js'
import { isPublic } from '../../src/net/checked-connection.js'
import { startGateway } from '../harness/gateway.js'
import { createImporter } from './importing.js'
import { startNativeDatastore, startNativeScene } from './native-importing.js'

test('only addresses of the public Internet are public', async t => {
  for (const address of ['93.184.216.34', '2606:2800:220:1:248:1893:25c8:1946']) t.ok(isPublic(address), address)
  const others = [
    '127.0.0.1',
    '127.8.8.8',
    '10.0.0.1',
    '172.16.0.1',
    '172.31.255.255',
    '192.168.1.1',
    '169.254.169.254',
    '100.64.0.1',
    '0.0.0.0',
    '255.255.255.255',
    '224.0.0.1',
    '192.0.2.1',
    '198.18.0.1',
    '240.0.0.1',
    '::1',
    '::',
    'fe80::1',
    'fc00::1',
    'fd12:3456::1',
    '::ffff:127.0.0.1',
    '::ffff:10.0.0.1',
    '::ffff:a9fe:a9fe',
    '64:ff9b::7f00:1',
    '2002:7f00:1::',
    '2001:db8::1',
    'ff02::1',
    'no address',
    ''
  ]
  for (const address of others) t.notOk(isPublic(address), address)
})

test('a source must be https at a host that the operator allowed, without credentials', async t => {
  const rules = { importHosts: ['files.example.org', 'other.example.org:8443'] }
  for (const url of [
    'https://files.example.org/a?b=c',
    'https://FILES.example.org/a',
    'https://other.example.org:8443/'
  ]) { t.ok(parseSourceUrl(url, rules), url) }
  for (const url of [
    'http://files.example.org/a',
    'https://files.example.org:8443/',
    'https://other.example.org/',
    'https://u:p@files.example.org/',
    'https://files.example.org.evil.example/',
    'https://evil.example/files.example.org',
    'https://127.0.0.1/',
    'https://[::1]/',
    'file:///etc/passwd',
    'https://files.example.org@evil.example/',
    'x'
  ]) {
    t.throws(() => parseSourceUrl(url, rules), { name: 'SourceError' }, url)
  }
})

type SourceHandler = (path: string) => {
  readonly status?: number
  readonly headers?: Record<string, string>
  readonly body?: string | Buffer
}

async function startSource (
  t: Test,
  respond: SourceHandler
): Promise<{ readonly host: string; readonly ca: string; readonly requested: string[] }> {
  const [key, cert] = ['source-key.pem', 'source.pem'].map(name =>
    readFileSync(new URL(name, import.meta.url), 'utf8')
  )
  const requested: string[] = []
  const server: Server = createServer({ key: key!, cert: cert! }, (request, response) => {
    requested.push(request.url!)
    const { status = 200, headers = {}, body = '' } = respond(request.url!)
    response.writeHead(status, headers).end(body)
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return { host: `files.example.org:${(server.address() as AddressInfo).port}`, ca: cert!, requested }
}

async function fetchText (url: string, rules: SourceRules): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of fetchSource(url, rules, new AbortController().signal)) chunks.push(chunk)
  return Buffer.concat(chunks).toString()
}

/** The message of a refused source. */
const withMessage = (words: string | RegExp) => ({ message: words }) as object as Error

test('a source is fetched from the address that its name had once, its certificate verified, and no redirect followed', async t => {
  const { host, ca, requested } = await startSource(t, path =>
    path === '/moved'
      ? { status: 302, headers: { location: 'https://127.0.0.1/' } }
      : path === '/gone'
        ? { status: 404 }
        : { body: '{"a":1}\n' }
  )
  let resolved = 0
  const trial = { ca, loopback: true, resolve: async () => (++resolved === 1 ? ['127.0.0.1'] : ['10.0.0.1']) }
  const rules: SourceRules = { importHosts: [host], trial }
  t.equal(await fetchText(`https://${host}/a?secret=1`, rules), '{"a":1}\n')
  t.equal(resolved, 1, 'the name is resolved once')
  await t.rejects(
    fetchText(`https://${host}/a`, rules),
    withMessage('the host has no public address'),
    'a name that leads elsewhere later is refused then'
  )
  const steady = { ...trial, resolve: async () => ['127.0.0.1'] }
  await t.rejects(
    fetchText(`https://${host}/a`, { importHosts: [host], trial: { ...steady, loopback: false } }),
    withMessage('the host has no public address')
  )
  await t.rejects(
    fetchText(`https://${host}/a`, {
      importHosts: [host],
      trial: { ...steady, resolve: async () => ['127.0.0.1', '10.0.0.1'] }
    }),
    withMessage('the host has no public address')
  )
  await t.rejects(
    fetchText(`https://${host}/moved`, { importHosts: [host], trial: steady }),
    withMessage(/redirects to another address/)
  )
  await t.rejects(
    fetchText(`https://${host}/gone`, { importHosts: [host], trial: steady }),
    withMessage('it answered with status 404')
  )
  await t.rejects(
    fetchText(`https://${host}/a`, { importHosts: [host], sourceBytes: 4, trial: steady }),
    withMessage('it is too large')
  )
  await t.rejects(
    fetchText(`https://${host}/a`, { importHosts: [host], trial: { loopback: true, resolve: steady.resolve } }),
    { code: /CERT|SELF_SIGNED/ },
    'an untrusted certificate'
  )
  t.same([...new Set(requested)], ['/a?secret=1', '/moved', '/gone', '/a'])
})

test('a manifest is refused where its hosts are not allowed, by this gateway and through raw FHIR', async t => {
  const gateway = await startGateway(t, { config: { bulk: { importHosts: ['files.example.org'] } } })
  const client = createImporter(gateway, (await gateway.createKey()).secret)
  for (const url of [
    'https://evil.example/a',
    'http://files.example.org/',
    'https://localhost/',
    'https://169.254.169.254/latest'
  ]) {
    t.match(
      await client.post('/bulk/import', { sources: [{ resourceType: 'Patient', url }] }),
      { status: 422, body: { code: 'VALIDATION_ERROR' } },
      url
    )
    const parameters = {
      resourceType: 'Parameters',
      parameter: [
        { name: 'inputFormat', valueCode: 'application/fhir+ndjson' },
        {
          name: 'input',
          part: [
            { name: 'type', valueCode: 'Patient' },
            { name: 'url', valueUri: url }
          ]
        }
      ]
    }
    const response = await fetch(`${gateway.url}/v1/fhir/$import`, {
      method: 'POST',
      body: JSON.stringify(parameters),
      headers: { 'x-api-key': client.secret, 'content-type': 'application/fhir+json', prefer: 'respond-async' }
    })
    t.match(
      { status: response.status, body: await response.json() },
      { status: 422, body: { resourceType: 'OperationOutcome' } },
      url
    )
  }
})

test('an import through raw FHIR is started, polled and cancelled as one of Bulk Data Access', async t => {
  const gateway = await startGateway(t, { config: { bulk: { importHosts: ['files.example.invalid'] } } })
  const { secret } = await gateway.createKey()
  const sendRequest = (path: string, init: RequestInit = {}) =>
    fetch(`${gateway.url}/v1/fhir/${path}`, {
      ...init,
      headers: {
        'x-api-key': secret,
        'content-type': 'application/fhir+json',
        prefer: 'respond-async',
        ...init.headers
      }
    })
  const buildParameters = (part: unknown[], more: unknown[] = []) =>
    JSON.stringify({
      resourceType: 'Parameters',
      parameter: [{ name: 'inputFormat', valueCode: 'application/fhir+ndjson' }, ...more, { name: 'input', part }]
    })
  const input = [
    { name: 'type', valueCode: 'Patient' },
    { name: 'url', valueUri: 'https://files.example.invalid/secret-path' }
  ]
  t.equal(
    (await sendRequest('$import', { method: 'POST', body: buildParameters(input), headers: { prefer: '' } })).status,
    400,
    'respond-async is needed'
  )
  t.equal(
    (
      await sendRequest('$import', {
        method: 'POST',
        body: buildParameters(input, [
          { name: 'storageDetail', part: [{ name: 'credentialHttpBasic', valueString: 'a:b' }] }
        ])
      })
    ).status,
    400
  )
  const begun = await sendRequest('%24import', { method: 'POST', body: buildParameters(input) })
  t.equal(begun.status, 202)
  const statusUrl = begun.headers.get('content-location')!
  t.match(statusUrl, /\/v1\/fhir\/_import\/job-[a-z2-7]{26}$/)
  const status = await sendRequest(statusUrl.slice(statusUrl.indexOf('_import')))
  t.ok([202, 400, 422].includes(status.status), String(status.status))
  const reader = await gateway.createKey({ scopes: ['read'] })
  t.equal(
    (
      await fetch(`${gateway.url}/v1/fhir/$import`, {
        method: 'POST',
        body: buildParameters(input),
        headers: { 'x-api-key': reader.secret, prefer: 'respond-async' }
      })
    ).status,
    403
  )
  t.equal((await sendRequest(statusUrl.slice(statusUrl.indexOf('_import')), { method: 'DELETE' })).status, 202)
  t.equal((await sendRequest(statusUrl.slice(statusUrl.indexOf('_import')))).status, 404)
  t.notMatch(JSON.stringify(gateway.logged()), /secret-path/, 'no log holds the address of a source')
})

test('an import fetches all its sources, and their lines have one list of results, in their order', async t => {
  const patients = '\uFEFF{"id":"p1","firstName":"A","lastName":"One"}\n\n{"id":"p2","firstName":"B","lastName":"Two"}'
  const observations = [1, 2, 3]
    .map(
      at =>
        `{"resourceType":"Observation","status":"final","code":{"text":"x"},"subject":{"reference":"Patient/p${at}"}}\n`
    )
    .join('')
  const { host, ca, requested } = await startSource(t, path => path === '/patients'
    ? { headers: { 'content-encoding': 'gzip' }, body: gzipSync(patients) }
    : { body: observations })
  const rules: SourceRules = { importHosts: [host], trial: { ca, loopback: true, resolve: async () => ['127.0.0.1'] } }
  const { url: fhirUrl } = await startNativeDatastore(t, undefined)
  const sources = [
    { type: null, url: `https://${host}/observations?key=1` },
    { type: 'Patient', url: `https://${host}/patients` }
  ]
  const scene = await startNativeScene(t, { fhirUrl, fetched: { sources, rules } })
  t.equal(await scene.run(), 'ended')
  t.same(
    scene.readResults().map(({ line, status }) => [line, status]),
    [
      [1, 'created'],
      [2, 'created'],
      [3, 'failed'],
      [4, 'created'],
      [6, 'created']
    ]
  )
  t.equal(await scene.countRecords('Patient'), 2)
  t.equal(await scene.countRecords('Observation'), 2)
  t.same(requested, ['/observations?key=1', '/patients'])
})

test('an import that was broken off between its sources, and whose index is not there any more, ends and says so', async t => {
  let isThere = false
  const { host, ca } = await startSource(t, path =>
    path === '/later' && !isThere ? { status: 404 } : { body: '{"firstName":"A","lastName":"One"}\n' }
  )
  const rules: SourceRules = { importHosts: [host], trial: { ca, loopback: true, resolve: async () => ['127.0.0.1'] } }
  const { url: fhirUrl } = await startNativeDatastore(t, undefined)
  const sources = ['/first', '/later', '/last'].map(path => ({ type: 'Patient', url: `https://${host}${path}` }))
  const scene = await startNativeScene(t, { fhirUrl, fetched: { sources, rules } })
  await t.rejects(scene.run(), { code: 'BAD_REQUEST', message: /^Source 2 could not be fetched/ })
  rmSync(scene.files.path(indexFile))
  isThere = true
  await t.rejects(scene.run(), {
    code: 'INTERNAL_ERROR',
    message: /^Something other than the gateway changed or truncated a file/
  })
})

test('an import whose source leads elsewhere, or to an address that is not public, fails and writes nothing', async t => {
  let elsewhere = 0
  const { host, ca } = await startSource(t, path => {
    if (path === '/elsewhere') elsewhere++
    return path === '/moved'
      ? { status: 302, headers: { location: '/elsewhere' } }
      : { body: '{"firstName":"A","lastName":"One"}\n' }
  })
  const { url: fhirUrl } = await startNativeDatastore(t, undefined)
  const validSource = { type: 'Patient', url: `https://${host}/good` }
  const refused = [
    {
      path: '/moved',
      loopback: true,
      message: 'Source 2 could not be fetched: it redirects to another address; use that address.'
    },
    { path: '/private', loopback: false, message: 'Source 1 could not be fetched: the host has no public address.' }
  ]
  for (const { path, loopback, message } of refused) {
    const rules: SourceRules = { importHosts: [host], trial: { ca, loopback, resolve: async () => ['127.0.0.1'] } }
    const scene = await startNativeScene(t, {
      fhirUrl,
      fetched: { sources: [validSource, { type: 'Patient', url: `https://${host}${path}` }], rules }
    })
    await t.rejects(scene.run(), { code: 'BAD_REQUEST', message })
    t.equal(await scene.countRecords('Patient'), 0)
    t.same(scene.readResults(), [])
  }
  t.equal(elsewhere, 0)
})
