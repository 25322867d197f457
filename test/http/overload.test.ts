import { setTimeout as pause } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { startGateway } from '../harness/gateway.js'

/** A gateway with a limit that any process exceeds, once it is measured. */
async function startOverloaded (t: Test) {
  const gateway = await startGateway(t, {
    config: { overload: { eventLoopDelayMs: null, heapPercent: null, rssBytes: 134_217_728 } }
  })
  const ballast = Buffer.alloc(134_217_728, 1)
  const { secret } = await gateway.createKey()
  const sendRequest = (
    url: string,
    headers: Record<string, string> = { 'x-api-key': secret },
    method: 'GET' | 'DELETE' = 'GET'
  ) => gateway.inject({ url, headers, method })
  while ((await sendRequest('/health/ready')).statusCode === 200) await pause(50)
  return { ...gateway, sendRequest, ballast }
}

t.test(
  'an overloaded process rejects requests with a key in the form of their path, and reports its load',
  async t => {
    const { sendRequest, logged, ballast } = await startOverloaded(t)
    t.ok(ballast.length)
    const enveloped = await sendRequest('/v1/patients')
    t.match(enveloped.json(), { data: null, code: 'BACKEND_UNAVAILABLE', meta: { status: 503 } })
    const outcome = await sendRequest('/v1/fhir/Patient')
    t.match(outcome.json(), { resourceType: 'OperationOutcome', issue: [{ code: 'transient' }] })
    for (const { statusCode, headers } of [enveloped, outcome]) {
      t.match({ statusCode, headers }, { statusCode: 503, headers: { 'retry-after': /^\d+$/ } })
    }
    t.equal((await sendRequest('/v1/patients', {})).statusCode, 503, 'before any key is looked at')
    const cancelled = await sendRequest('/v1/bulk/jobs/job-aaaaaaaaaaaaaaaaaaaaaaaaaa', undefined, 'DELETE')
    t.equal(cancelled.statusCode, 404, 'a job, which may be what is too much, can be cancelled')
    for (const kind of ['_export', '_import']) {
      const url = `/v1/fhir/${kind}/job-aaaaaaaaaaaaaaaaaaaaaaaaaa`
      t.strictSame(
        [(await sendRequest(url, undefined, 'DELETE')).statusCode, (await sendRequest(url)).statusCode],
        [404, 503],
        'and by its other name'
      )
    }
    t.strictSame(
      [
        (await sendRequest('/health')).statusCode,
        (await sendRequest('/openapi.json')).statusCode,
        (await sendRequest('/dashboard/sign-in')).statusCode
      ],
      [200, 200, 200]
    )
    t.match(
      logged().filter(({ level }) => Number(level) >= 50)[0],
      { code: 'BACKEND_UNAVAILABLE', err: { reason: /overloaded/ } },
      'the log says why'
    )
  }
)
