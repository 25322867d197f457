import { mkdtempSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type Test } from 'tap'
import { listLogFiles, verify } from '../../src/observability/audit-log/chain.js'
import { run } from '../../src/operator/cli/run.js'
import { createImporter } from '../jobs/importing.js'
import { createGatewayClient } from '../harness/client.js'
import { startGateway, type GatewaySettings, type TestGateway } from '../harness/gateway.js'

const ada = { firstName: 'Ada', lastName: 'Byron', birthDate: '1990-03-14' }

type Line = Readonly<Record<string, any>>

async function startAudited (
  t: Test,
  auditLog: object = {},
  settings: GatewaySettings = {}
): Promise<TestGateway & { readonly file: string; readonly lines: () => Line[] }> {
  const folder = mkdtempSync(join(tmpdir(), 'clinigate-accesses-'))
  const file = join(folder, 'logs', 'access.log')
  const gateway = await startGateway(t, { ...settings, config: { auditLog: { file, ...auditLog } } })
  t.after(() => rmSync(folder, { recursive: true }))
  return {
    ...gateway,
    file,
    lines: () =>
      readFileSync(file, 'utf8')
        .split('\n')
        .filter(line => line !== '')
        .map(line => JSON.parse(line))
  }
}

const formatAccess = ({ action, interaction, type, id, records, outcome, code }: Line) =>
  [action, interaction, type, id, records, outcome, code].filter(part => part !== undefined).join(' ')

test('each access is logged before its response is sent: who accessed which record, how, and with which outcome', async t => {
  const gateway = await startAudited(t)
  const client = await createGatewayClient(gateway)
  const created = await client.send('POST', 'patients', ada)
  const { id } = created.data
  t.equal(gateway.lines().length, 1, 'the answer waited for its line')
  await client.send('GET', `patients/${id}`)
  await client.send('GET', 'patients?lastName=byron')
  await client.send('PATCH', `patients/${id}`, { email: 'ada@example.org' })
  await client.send('GET', 'patients/unknown')
  await client.send('POST', 'patients', { firstName: 5 })
  await client.send('DELETE', `patients/${id}`)
  await client.send('GET', 'usage')
  t.same(gateway.lines().map(formatAccess), [
    `C create Patient ${id} 0`, `R read Patient ${id} 0`, 'E search Patient 1 0', `U update Patient ${id} 0`,
    'R read Patient unknown 4 NOT_FOUND', 'C 4', `D delete Patient ${id} 0`, 'R 0'
  ])
  t.match(gateway.lines()[0], {
    n: 1,
    requestId: created.headers['x-request-id'],
    tenantId: client.tenantId,
    mode: 'test',
    route: '/v1/patients'
  })
  t.match(await verify(listLogFiles(gateway.file)), { lines: 8, broken: undefined })
  t.equal(statSync(gateway.file).mode & 0o777, 0o600)
})

test('raw FHIR, and each entry of a batch and a transaction, has its line', async t => {
  const gateway = await startAudited(t)
  const client = await createGatewayClient(gateway)
  const resource = { resourceType: 'Patient', name: [{ family: 'Byron' }] }
  const sendFhir = (method: string, path: string, body?: unknown) =>
    client.send(method, `fhir${path}`, body, { 'content-type': 'application/fhir+json' })
  const { body: { id } } = await sendFhir('POST', '/Patient', resource)
  await sendFhir('GET', '/Patient?family=byron')
  await sendFhir('GET', `/Patient/${id}/_history`)
  const made = await sendFhir('POST', '', {
    resourceType: 'Bundle',
    type: 'transaction',
    entry: [
      { resource, request: { method: 'POST', url: 'Patient' } },
      { request: { method: 'GET', url: `Patient/${id}` } }
    ]
  })
  const other = made.body.entry[0].response.location.split('/').at(-3)
  await sendFhir('POST', '', {
    resourceType: 'Bundle',
    type: 'batch',
    entry: [
      { request: { method: 'GET', url: 'Patient/nobody' } },
      { request: { method: 'DELETE', url: `Patient/${id}` } }
    ]
  })
  const lines = gateway.lines().map(formatAccess)
  t.same(lines.slice(0, 3), [`C create Patient ${id} 0`, 'E search Patient 1 0', `R history Patient ${id} 1 0`])
  t.same(
    lines.slice(3, 6).sort(),
    [`C create Patient ${other} 0`, 'E transaction Bundle 0', `R read Patient ${id} 0`].sort()
  )
  t.same(lines.slice(6).sort(), ['R read Patient nobody 4 NOT_FOUND', `D delete Patient ${id} 0`].sort())
})

test('a search lists the records it returned only where that is configured', async t => {
  const gateway = await startAudited(t, { logsSearchResultIds: true })
  const client = await createGatewayClient(gateway)
  const { data: { id } } = await client.send('POST', 'patients', ada)
  await client.send('GET', 'patients')
  t.same(gateway.lines()[1]!.shown, [`Patient/${id}`])
})

test('no content of a record, no secret and no part of a query is in the log', async t => {
  const gateway = await startAudited(t, { logsSearchResultIds: true })
  const { secret } = await gateway.createKey()
  const headers = { 'x-api-key': secret, 'content-type': 'application/json' }
  await gateway.inject({ method: 'POST', url: '/v1/patients', headers, payload: ada })
  await gateway.inject({ url: '/v1/patients?lastName=byron&birthDate=1990-03-14', headers })
  await gateway.inject({ url: '/v1/patients/Byron-1990?lastName=Byron', headers })
  const text = readFileSync(gateway.file, 'utf8').replaceAll('"id":"Byron-1990"', '')
  // No digit of a hash or an id forms a word by itself.
  t.notMatch(text, /byron|1990-03|\bada\b/i)
  t.notOk(text.includes(secret.slice(9)))
})

test('the outcome of a bulk job is a line with the id of the job', async t => {
  const gateway = await startAudited(t)
  const { secret } = await gateway.createKey()
  const { job } = await createImporter(gateway, secret).run(
    [
      { id: 'a', ...ada },
      { id: 'b', ...ada }
    ],
    '?resourceType=patients'
  )
  const line = gateway.lines().find(({ requestId }) => requestId === job.id)
  t.equal(formatAccess(line!), 'E import Patient 2 0')
})

test("while lines can't be written requests are rejected, and when they can all are served again", async t => {
  const gateway = await startAudited(t)
  const client = await createGatewayClient(gateway)
  const { data: { id } } = await client.send('POST', 'patients', ada)
  renameSync(gateway.file, `${gateway.file}.away`)
  t.match(
    await client.send('GET', `patients/${id}`),
    { status: 503, body: { code: 'BACKEND_UNAVAILABLE' }, headers: { 'retry-after': '5' } },
    'an answer without a line does not go out'
  )
  t.match(await client.send('DELETE', `patients/${id}`), { status: 503, body: { message: /^Nothing was done/ } })
  renameSync(`${gateway.file}.away`, gateway.file)
  while ((await client.send('GET', `patients/${id}`)).status !== 200) {
    await new Promise(resolve => setTimeout(resolve, 50))
  }
  t.match(
    gateway.lines().map(formatAccess).slice(0, 2),
    [`C create Patient ${id} 0`, `R read Patient ${id} 0`],
    'the read that was answered with 503 had been done, so it is told of'
  )
  t.match(await verify([gateway.file]), { broken: undefined })
})

test('where lines are not required, requests are served without them', async t => {
  const gateway = await startAudited(t, { isRequired: false })
  const client = await createGatewayClient(gateway)
  renameSync(gateway.file, `${gateway.file}.away`)
  for (let i = 0; i < 3; i++) t.equal((await client.send('GET', 'patients')).status, 200)
})

test('clinigate audit-log verify prints its findings, and ends with 1 when a line was changed or a known one is missing', async t => {
  const gateway = await startAudited(t)
  const client = await createGatewayClient(gateway)
  for (let i = 0; i < 3; i++) await client.send('GET', 'patients')
  const runVerify = async (...args: string[]) => {
    let out = ''
    const code = await run(['audit-log', 'verify', gateway.file, ...args], {
      environment: {},
      user: 'test',
      now: () => new Date(),
      out: text => {
        out += text
      },
      err: () => {},
      streams: process
    })
    return { code, ...JSON.parse(out) }
  }
  const { last, ...result } = await runVerify()
  t.match(result, { code: 0, status: 'whole', lines: 3 })
  t.match(await runVerify('--known', last), { code: 0, status: 'whole' })
  await gateway.close()
  const text = readFileSync(gateway.file, 'utf8')
  writeFileSync(gateway.file, text.split('\n').slice(0, 2).join('\n') + '\n')
  t.match(await runVerify('--known', last), { code: 1, status: 'shortened' })
  writeFileSync(gateway.file, text.replace('"n":2', '"n":3'))
  t.match(await runVerify(), { code: 1, status: 'broken', broken: { line: 2 } })
})
