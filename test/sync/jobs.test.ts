import fastify from 'fastify'
import t, { type Test } from 'tap'
import type { Jobs } from '../../src/jobs/model/jobs.js'
import { jobCalls } from '../../src/control-plane/sync/job-messages.js'
import { createRemoteLink } from '../../src/control-plane/sync/remote.js'
import { linkRoutes } from '../../src/control-plane/sync/routes.js'
import { makeInMemoryDatabase } from '../control-store/databases.js'
import { buildDraft, testJobs } from '../control-store/jobs-contract.js'
import { waitUntil } from '../harness/until.js'
import { startStandIn, startControlPlane, startService } from './control-plane.js'

const token = 'cg_gateway_never-to-be-seen'
const scope = { tenantId: 'org-a', mode: 'test' } as const

function linkTo (t: Test, url: string, options = {}) {
  const link = createRemoteLink({ url, token, ...options })
  t.after(() => link.close())
  return link.jobs
}

t.test('over the link, jobs are the same as in the control store', t => testJobs(t, makeInMemoryDatabase, async (t, jobs) => {
  const app = fastify()
  const nothing = {
    feed: undefined as never,
    report: async () => {},
    applyUsage: async () => ({ number: 0, batchId: '' }),
    webhooks: undefined as never,
    subscriptions: undefined as never,
    applyEvents: undefined as never,
    events: undefined as never
  }
  await app.register(linkRoutes, {
    prefix: '/control/v1/link',
    store: { ...nothing, jobs },
    findGatewayName: async () => 'one'
  })
  t.after(() => app.close())
  return linkTo(t, await app.listen({ host: '127.0.0.1', port: 0 }))
}))

t.test('jobs are accessible with valid tokens of gateways alone', async t => {
  const { app, control, token, tokenId } = await startControlPlane(t)
  const { secret: operator } = await control.tokens.create({ name: 'a program', role: 'operator' }, 'test')
  const getStatus = async (name: string, secret: string) =>
    (
      await app.inject({
        method: 'POST',
        url: `/control/v1/link/jobs/${name}`,
        headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
        payload: '[]'
      })
    ).statusCode
  for (const name of Object.keys(jobCalls)) {
    t.equal(await getStatus(name, operator), 401, name)
    t.equal(await getStatus(name, ''), 401, name)
    t.equal(await getStatus(name, token), 400, `${name}: a good token comes to the question, which is none`)
  }
  await control.tokens.revoke(tokenId, 'test')
  t.equal(await getStatus('claim', token), 401)
})

t.test('an invalid call is rejected, and no value is repeated', async t => {
  const { app, token } = await startControlPlane(t)
  const postCall = (name: string, payload: unknown) =>
    app.inject({
      method: 'POST',
      url: `/control/v1/link/jobs/${name}`,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      payload: JSON.stringify(payload)
    })
  const draft = buildDraft()
  const lease = { jobId: 'job-a', number: 1 }
  const invalid: Array<[string, unknown]> = [
    ['create', [{ ...draft, sneaky: 1 }]],
    ['create', [{ ...draft, owner: { ...draft.owner, scopes: [] } }]],
    ['create', [{ ...draft, fileKey: 'sneaky' }]],
    ['create', [{ ...draft, request: { ...draft.request, kind: 'sneaky' } }]],
    ['create', [{ ...draft, status: 'completed' }]],
    ['create', draft],
    ['create', [draft, draft]],
    ['find', ['job-a']],
    ['find', ['sneaky/../x', scope]],
    ['find', ['job-a', { tenantId: 'org-a' }]],
    ['find', ['job-a', { ...scope, mode: 'sneaky' }]],
    ['find', ['job-a', { ...scope, more: 1 }]],
    ['list', [scope, { count: 0 }]],
    ['list', [scope, { count: 102 }]],
    ['list', [scope, { count: 1, before: { id: 'job-a', createdAt: 'sneaky' } }]],
    ['claim', [{ gateway: 'one', storeId: 'store', perTenant: 0, leaseMs: 1 }]],
    ['claim', [{ gateway: 'one', storeId: 'store', perTenant: 1, leaseMs: 1e12 }]],
    ['save', [lease, {}]],
    ['save', [lease, { end: { status: 'cancelled' } }, 1]],
    ['save', [lease, { end: { status: 'failed' } }, 1]],
    ['save', [lease, { owner: 'sneaky' }, 1]],
    ['save', [lease, { progress: { processed: -1, failed: 0 } }, 1]],
    ['release', []],
    ['release', [lease, { afterMs: '1' }]],
    ['expired', []],
    ['forget', ['job-a']],
    ['existing', [[1]]],
    ['abandoned', [[1]]],
    ['identityKey', [{}]]
  ]
  for (const [name, payload] of invalid) {
    const response = await postCall(name, payload)
    t.equal(response.statusCode, 400, `${name} ${JSON.stringify(payload).slice(0, 60)}`)
    t.notMatch(response.body, /sneaky</)
  }
  t.equal(
    (await postCall('forget', [Array.from({ length: 100_000 }, () => 'job-aaaaaaaaaaaaaaaaaaaaaaaaaa')])).statusCode,
    413
  )
  t.equal((await postCall('sneaky', [])).statusCode, 404)
})

/** Each operation once, as a gateway calls it. */
const calls: Array<(jobs: Jobs) => Promise<unknown>> = [
  jobs => jobs.create(buildDraft()),
  jobs => jobs.find('job-a', scope),
  jobs => jobs.list(scope, { count: 1 }),
  jobs => jobs.cancel('job-a', scope),
  jobs => jobs.discard('job-a', scope),
  jobs => jobs.claim({ gateway: 'one', storeId: 'store', perTenant: 1, leaseMs: 1 }),
  jobs => jobs.save({ jobId: 'job-a', number: 1 }, {}, 1),
  jobs => jobs.release({ jobId: 'job-a', number: 1 }),
  jobs => jobs.expired('store'),
  jobs => jobs.existing([]),
  jobs => jobs.abandoned([]),
  jobs => jobs.forget([]),
  jobs => jobs.identityKey(scope)
]

t.test(
  'a control plane that is unreachable or responds with nonsense is a 503 that a client may read, without anything that was sent',
  async t => {
    const urls = [
      'http://127.0.0.1:1',
      ...(await Promise.all(
        [
          [200, '<html>never</html>'],
          [200, '{"answer":{"id":"never"}}'],
          [200, '{"answer":1,"never":1}'],
          [401, 'never'],
          [404, 'never'],
          [500, 'never'],
          [200, `"${'x'.repeat(17_000_000)}"`]
        ].map(([status, body]) => startStandIn(t, (_, response) => response.writeHead(status as number).end(body)))
      ))
    ]
    for (const url of urls) {
      const jobs = linkTo(t, url)
      for (const call of calls) {
        await t.rejects(call(jobs), {
          code: 'BACKEND_UNAVAILABLE',
          status: 503,
          headers: { 'retry-after': '5' },
          message: /^The control plane, which stores the bulk jobs, cannot be reached/
        })
      }
    }
  }
)

t.test('a call for the jobs of a caller sends its organization and mode and nothing else', async t => {
  const bodies: string[] = []
  const url = await startStandIn(t, async (request, response) => {
    for await (const chunk of request) bodies.push(String(chunk))
    response.end('{}')
  })
  const caller = { ...scope, keyId: 'key-1', keyName: 'hidden', plan: 'pro', overage: true, scopes: ['*'] }
  const jobs = linkTo(t, url)
  for (const call of [() => jobs.find('job-a', caller), () => jobs.cancel('job-a', caller)]) {
    t.equal(await call(), undefined)
  }
  t.strictSame(bodies.map(body => JSON.parse(body)), [['job-a', scope], ['job-a', scope]])
})

t.test(
  'without its control plane a gateway responds 503 to bulk jobs with their own message, and serves everything else',
  async t => {
    const control = await startControlPlane(t)
    const gateway = await startService(t, {
      CLINIGATE_ROLE: 'gateway',
      CONTROL_URL: control.url,
      CLINIGATE_GATEWAY_TOKEN: control.token
    })
    const { secret } = await control.createKey()
    const get = (url: string) => gateway.app.inject({ url: `/v1/${url}`, headers: { 'x-api-key': secret } })
    await waitUntil(async () => (await get('bulk/jobs')).statusCode === 200)
    const job = `bulk/jobs/job-${'a'.repeat(26)}`
    t.equal((await get(job)).statusCode, 404)
    await control.close()
    for (const url of ['bulk/jobs', job, `${job}/files/Patient.ndjson`]) {
      const response = await get(url)
      t.match(
        [response.statusCode, response.json(), response.headers['retry-after']],
        [
          503,
          { code: 'BACKEND_UNAVAILABLE', data: null, message: /^The control plane, which stores the bulk jobs/ },
          '5'
        ],
        url
      )
    }
    t.equal((await get('bulk/jobs/nonsense')).statusCode, 404, "what can't be a job needs no look-up")
    t.equal((await get('patients?count=1')).statusCode, 200)
    t.notMatch(gateway.lines.join(''), control.token)
  }
)
