import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { createImporter } from '../../jobs/importing.js'
import { parseRecords } from '../../jobs/exporting.js'
import { runCommand } from '../../cli/command.js'
import { startGateway, type TestGateway } from '../../harness/gateway.js'
import { startGuardedFhir, type GuardedFhir } from '../../harness/guarded-fhir.js'
import { startTestSandbox } from '../../harness/sandbox.js'
import { startTokenServer, type TokenServer } from '../../harness/token-server.js'
import { waitUntil } from '../../harness/until.js'

const ada = { firstName: 'Ada', lastName: 'Byron' }

interface Scene {
  readonly gateway: TestGateway
  readonly guarded: GuardedFhir
  readonly tokens: TokenServer
  readonly configuration: object
  /** Ends the token that the gateway has, once the gateway may request another one. */
  readonly endToken: () => void
  readonly forward: (seconds: number) => void
}

async function setScene (t: Test): Promise<Scene> {
  const sandbox = await startTestSandbox(t)
  const tokens = await startTokenServer(t)
  const guarded = await startGuardedFhir(t, { fhirUrl: sandbox.url, accepts: tokens.accepts })
  const auth = { type: 'oauth2', tokenUrl: tokens.tokenUrl, clientId: 'gateway', clientSecretEnv: 'FHIR_CLIENT_SECRET' }
  const configuration = {
    datastores: { guarded: { url: guarded.url, auth } },
    routing: { test: 'guarded', live: 'guarded' }
  }
  let aheadMs = 0
  const forward = (seconds: number) => { aheadMs += seconds * 1_000 }
  const gateway = await startGateway(t, {
    config: configuration,
    environment: { FHIR_CLIENT_SECRET: 'a secret' },
    now: () => new Date(Date.now() + aheadMs)
  })
  const endToken = () => { forward(11); tokens.revokeAll() }
  return { gateway, guarded, tokens, configuration, endToken, forward }
}

/** A client that requires each request to succeed. */
function createStrictSender ({ gateway, secret }: { readonly gateway: TestGateway, readonly secret: string }) {
  return async (method: string, path: string, body?: object): Promise<any> => {
    const type = path.startsWith('fhir') ? 'application/fhir+json' : 'application/json'
    const response = await gateway.inject({
      method: method as 'GET',
      url: `/v1/${path}`,
      headers: { 'x-api-key': secret, ...(body && { 'content-type': type }) },
      ...(body && { payload: JSON.stringify(body) })
    })
    if (response.statusCode >= 300) {
      throw new Error(`${method} ${path} was answered with ${response.statusCode} ${response.body}`)
    }
    return /^application\/(?:fhir\+)?json/.test(String(response.headers['content-type']))
      ? JSON.parse(response.body)
      : response.body
  }
}

t.test('a whole gateway in front of a datastore that requires a token', async t => {
  const scene = await setScene(t)
  const { gateway, guarded, tokens, endToken, forward } = scene
  const { secret } = await gateway.createKey()
  const sendRequest = createStrictSender({ gateway, secret })

  await t.test('serves simple records, and raw FHIR, though the token ends before each request', async t => {
    const { data: { id } } = await sendRequest('POST', 'patients', ada)
    endToken()
    t.equal((await sendRequest('GET', `patients/${id}`)).data.lastName, 'Byron')
    endToken()
    await sendRequest('PATCH', `patients/${id}`, { email: 'ada@example.org' })
    await sendRequest('POST', 'patients', ada)
    endToken()
    const { data: page } = await sendRequest('GET', 'patients?count=1')
    endToken()
    t.equal((await sendRequest('GET', `patients?cursor=${page.cursor}`)).data.data.length, 1)
    endToken()
    t.equal((await sendRequest('GET', `fhir/Patient/${id}`)).id, id)
    endToken()
    t.equal((await sendRequest('GET', 'fhir/Patient?family=byron')).total, 2)
    endToken()
    const entry = [
      { resource: { resourceType: 'Patient' }, request: { method: 'POST', url: 'Patient' } },
      { request: { method: 'DELETE', url: `Patient/${id}` } }
    ]
    const { entry: entries } = await sendRequest('POST', 'fhir', { resourceType: 'Bundle', type: 'transaction', entry })
    t.same(entries.map(({ response }: any) => response.status.slice(0, 3)), ['201', '204'])
    t.equal((await sendRequest('GET', 'fhir/Patient')).total, 2, 'each write was done once')
  })

  await t.test('imports and exports finish, though the token ends while each runs', async t => {
    forward(11)
    guarded.after(2, tokens.revokeAll)
    const imports = createImporter(gateway, secret)
    const lines = Array.from({ length: 1_200 }, (_, at) => ({ resourceType: 'Patient', id: `p${at}` }))
    const { job, results } = await imports.run(lines)
    t.match(job, { status: 'completed', totalRecords: 1_200, failedRecords: 0 })
    t.ok(results.every(({ status }) => status === 'created'), 'no line failed')
    forward(11)
    guarded.after(2, tokens.revokeAll)
    const { data: { jobId } } = await sendRequest('POST', 'bulk/export', { resourceTypes: ['Patient'] })
    const { status, files } = await imports.waitForEnd(jobId)
    t.equal(status, 'completed')
    t.equal(parseRecords(await sendRequest('GET', new URL(files[0].url).pathname.slice('/v1/'.length))).length, 1_202)
  })

  await t.test('gets a new token before the old one expires', async t => {
    const before = {
      refusals: guarded.requested.filter(({ status }) => status === 401).length,
      tokens: tokens.requested.length
    }
    forward(3_600 - 200)
    await sendRequest('GET', 'fhir/Patient?_summary=count')
    while (tokens.requested.length === before.tokens) await new Promise(resolve => setTimeout(resolve, 10))
    await sendRequest('GET', 'fhir/Patient?_summary=count')
    t.equal(guarded.requested.filter(({ status }) => status === 401).length, before.refusals, 'none was refused')
  })

  await t.test('never sends a request without a token, and a rejection costs one more request', async t => {
    const fetchChecks = async () => (await gateway.inject('/health')).json().data.checks
    // On a busy machine the response may take longer than a second, so the check is repeated.
    await waitUntil(async () => (await fetchChecks()).testDatastore.status === 'ok')
    t.equal((await fetchChecks()).datastoreCredentials.status, 'ok')
    t.same(guarded.requested.filter(({ authorization }) => !/^Bearer \S{20,}$/.test(authorization ?? '')), [])
    const refusals = guarded.requested.filter(({ status }) => status === 401)
    t.ok(refusals.length >= 8, `${refusals.length} requests met a token that had ended`)
    t.ok(new Set(guarded.requested.map(({ authorization }) => authorization)).size >= 10)
    t.notOk(
      gateway
        .readNewLines()
        .some(
          line =>
            line.includes('a secret') ||
            guarded.requested.some(({ authorization }) => line.includes(authorization!.slice('Bearer '.length)))
        ),
      'no secret and no token is in the log'
    )
  })

  await t.test(
    'clinigate doctor examines it with the same settings, though the token ends meanwhile',
    async t => {
      const folder = mkdtempSync(join(tmpdir(), 'clinigate-doctor-'))
      t.teardown(() => rmSync(folder, { recursive: true }))
      writeFileSync(join(folder, 'config.json'), JSON.stringify(scene.configuration))
      const request = guarded.requested.length
      const environment = {
        CLINIGATE_CONFIG: join(folder, 'config.json'),
        CLINIGATE_DATA: join(folder, 'data'),
        FHIR_CLIENT_SECRET: 'a secret'
      }
      guarded.after(10, tokens.revokeAll)
      const { code, out, err } = await runCommand(environment, 'doctor', 'guarded', '--json')
      t.strictSame([code, err], [0, ''])
      t.match(JSON.parse(out), { datastore: 'guarded', blocks: false, records: { left: [] } })
      const ofDoctor = guarded.requested.slice(request)
      t.ok(ofDoctor.length > 20)
      t.same(
        ofDoctor.filter(({ authorization }) => authorization === undefined).map(({ status }) => status),
        [401],
        'one request alone tries whether strangers are let in'
      )
      t.ok(ofDoctor.some(({ status, authorization }) => status === 401 && authorization !== undefined))
    }
  )
})
