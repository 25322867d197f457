import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { BackendRequest } from '../../../src/backends/backend.js'
import { certificate } from '../../harness/token-server.js'
import { startGuarded } from './datastores.js'

const read: BackendRequest = { method: 'GET', path: 'Patient/1' }

function createDirectory (t: Test): string {
  const path = mkdtempSync(join(tmpdir(), 'clinigate-secret-file-'))
  t.after(() => rmSync(path, { recursive: true }))
  return path
}

/** A clock that a test sets forward, past the time for which a file is not read again. */
function createClock (): { readonly now: () => Date, readonly later: () => void } {
  let aheadMs = 0
  return { now: () => new Date(Date.now() + aheadMs), later: () => { aheadMs += 10_000 } }
}

t.test('a token that was replaced in its file takes effect without a restart', async t => {
  const tokenFile = join(createDirectory(t), 'token')
  writeFileSync(tokenFile, 'one\n')
  const { now, later } = createClock()
  const { backend, server } = await startGuarded(t, { accepts: () => true, auth: { type: 'bearer', tokenFile }, now })
  await backend.send(read)
  writeFileSync(`${tokenFile}.new`, 'two\n')
  renameSync(`${tokenFile}.new`, tokenFile)
  later()
  await backend.send(read)
  t.same(server.seen.map(({ headers }) => headers.authorization), ['Bearer one', 'Bearer two'])
})

t.test('a datastore that rejects the old token gets the new one at once, and the request succeeds', async t => {
  const tokenFile = join(createDirectory(t), 'token')
  writeFileSync(tokenFile, 'one')
  let validHeader = 'Bearer one'
  const { backend, statuses } = await startGuarded(t, {
    accepts: header => header === validHeader,
    auth: { type: 'bearer', tokenFile },
    now: () => new Date(0)
  })
  t.equal((await backend.send(read)).status, 200)
  writeFileSync(tokenFile, 'two')
  validHeader = 'Bearer two'
  t.equal((await backend.send({ method: 'POST', path: 'Patient', body: '{}' })).status, 200)
  t.same(statuses, [200, 401, 200])
})

t.test(
  'while the file is empty, missing or holds no token, the last valid one is used; the log and the health report it once',
  async t => {
    const tokenFile = join(createDirectory(t), 'token')
    writeFileSync(tokenFile, 'one')
    const { now, later } = createClock()
    const { backend, server, logged, isFailing } = await startGuarded(t, {
      accepts: header => header === 'Bearer one',
      auth: { type: 'bearer', tokenFile },
      now
    })
    for (const content of ['', 'a\r\nx: s3cret', '\n']) {
      writeFileSync(tokenFile, content)
      later()
      t.equal((await backend.send(read)).status, 200)
      t.ok(isFailing())
    }
    rmSync(tokenFile)
    later()
    t.equal((await backend.send(read)).status, 200)
    t.match(logged, [
      { level: 'warn', datastore: 'guarded' },
      { level: 'warn', code: 'ENOENT' }
    ])
    t.equal(logged.length, 2)
    t.notMatch(JSON.stringify(logged), /s3cret|Bearer|one/)
    writeFileSync(tokenFile, 'one')
    later()
    await backend.send(read)
    t.notOk(isFailing())
    t.ok(server.seen.every(({ headers }) => headers.authorization === 'Bearer one'))
  }
)

t.test('the password of basic is read again too', async t => {
  const passwordFile = join(createDirectory(t), 'password')
  writeFileSync(passwordFile, 'one')
  const { now, later } = createClock()
  const { backend, server } = await startGuarded(t, {
    accepts: () => true,
    auth: { type: 'basic', username: 'gateway', passwordFile },
    now
  })
  await backend.send(read)
  writeFileSync(passwordFile, 'two')
  later()
  await backend.send(read)
  t.same(
    server.seen.map(({ headers }) => Buffer.from(headers.authorization!.slice('Basic '.length), 'base64').toString()),
    ['gateway:one', 'gateway:two']
  )
})

t.test(
  "headers of the settings go with every request, and the gateway's certificate with every connection",
  async t => {
    const path = createDirectory(t)
    for (const [name, text] of Object.entries(certificate)) writeFileSync(join(path, name), text)
    const { backend, server } = await startGuarded(t, {
      accepts: () => true,
      auth: {},
      environment: { KEY: 'from a variable' },
      datastore: {
        caFile: join(path, 'cert'),
        clientCertFile: join(path, 'cert'),
        clientKeyFile: join(path, 'key'),
        headers: { 'Ocp-Apim-Subscription-Key': { valueEnv: 'KEY' }, 'x-plain': { value: 'plain' } }
      },
      tls: { ...certificate, ca: certificate.cert, requestCert: true, rejectUnauthorized: true }
    })
    await backend.send(read)
    await backend.stream({ path: 'Binary/1', accept: ['application/fhir+json'], signal: AbortSignal.timeout(60_000) })
    t.ok(await backend.probe())
    await new Promise((resolve, reject) =>
      backend.upstream.request(
        { origin: backend.upstream.origin, path: '/fhir/CodeSystem/$lookup', method: 'GET', headers: {} },
        (error, response) => (error ? reject(error) : resolve(response.body.dump()))
      )
    )
    t.equal(server.seen.length, 4)
    for (const { headers } of server.seen) {
      t.match(headers, { 'ocp-apim-subscription-key': 'from a variable', 'x-plain': 'plain' })
    }
  }
)
