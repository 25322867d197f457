import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { startTestSandbox } from '../harness/sandbox.js'
import { waitUntil } from '../harness/until.js'
import { startService, createTemporaryDirectory } from '../sync/control-plane.js'

t.test('a worker runs the bulk jobs of gateways that run none, and serves no requests of clients', async t => {
  const sandbox = await startTestSandbox(t)
  const directory = createTemporaryDirectory(t)
  const writeConfig = (name: string, bulk: object): string => {
    const file = join(directory, name)
    writeFileSync(file, JSON.stringify({ bulk: { directory: join(directory, 'bulk'), ...bulk } }))
    return file
  }
  const datastores = { FHIR_TEST_URL: sandbox.url, FHIR_LIVE_URL: sandbox.url }
  const gateway = await startService(t, {
    ...datastores, CLINIGATE_CONFIG: writeConfig('gateway.json', { maxConcurrentJobs: 0 })
  })
  const control = gateway.control!
  const { tenantId } = await control.organizations.create({ name: 'clinic', plan: 'enterprise' }, 'test')
  const { secret } = await control.keys.create({ tenantId, mode: 'test', name: 'a key' }, 'test')
  const { secret: token } = await control.tokens.create({ name: 'worker', role: 'gateway' }, 'test')
  await gateway.catchUp()
  const send = async (path: string, request: RequestInit = {}, { url } = gateway) => {
    const headers = { 'x-api-key': secret, ...request.headers }
    const response = await fetch(`${url}${path}`, { ...request, headers })
    return { status: response.status, text: await response.text() }
  }
  const lines = [1, 2, 3].map(at => JSON.stringify({ firstName: `Name ${at}`, lastName: 'Worked' })).join('\n')
  const posted = await send('/v1/bulk/import?resourceType=Patient', {
    method: 'POST', headers: { 'content-type': 'application/x-ndjson' }, body: lines
  })
  t.equal(posted.status, 202)
  const { jobId } = JSON.parse(posted.text).data
  const fetchJob = async () => JSON.parse((await send(`/v1/bulk/jobs/${jobId}`)).text).data
  t.equal((await fetchJob()).status, 'pending')

  const worker = await startService(t, {
    ...datastores,
    CLINIGATE_ROLE: 'worker',
    CONTROL_URL: gateway.url,
    CLINIGATE_GATEWAY_TOKEN: token,
    CLINIGATE_CONFIG: writeConfig('worker.json', {})
  })
  await waitUntil(async () => (await fetchJob()).status === 'completed')
  t.match(await fetchJob(), { totalRecords: 3, processedRecords: 3, failedRecords: 0 })
  const results = (await send(`/v1/bulk/jobs/${jobId}/results`)).text.trimEnd().split('\n')
  t.strictSame(results.map(line => JSON.parse(line).status), ['created', 'created', 'created'])
  t.equal(JSON.parse((await send('/v1/patients?lastName=worked')).text).data.total, 3)

  t.equal((await send('/health', {}, worker)).status, 200)
  await waitUntil(async () => (await send('/health/ready', {}, worker)).status === 200)
  for (const path of ['/v1/patients', '/v1/fhir/Patient', '/v1/bulk/jobs', '/dashboard', '/openapi.json', '/v1/metadata']) {
    t.equal((await send(path, {}, worker)).status, 404, path)
  }
})
