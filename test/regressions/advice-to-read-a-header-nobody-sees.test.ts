import { createServer } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { RunningJob } from '../../src/jobs/running-job.js'
import { PermanentFailure } from '../../src/jobs/job-context.js'
import { catalog, Failure } from '../../src/envelope/failures.js'
import { command } from '../cli/command.js'

/** A server that refuses everything in the words of a gateway. */
async function refusing (t: Test, failure: Failure): Promise<string> {
  const { status, message, headers } = failure
  const server = createServer((_, response) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers })
    response.end(JSON.stringify({ data: null, message, issues: [] }))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

t.test('a command says when to try again, or to try later where it is not known', async t => {
  for (const [retryAfterSeconds, says] of [
    [20, 'Try again in 20 seconds.'],
    [1, 'Try again in 1 second.'],
    [undefined, 'Try again later.']
  ] as const) {
    const url = await refusing(t, new Failure('BACKEND_UNAVAILABLE', { retryAfterSeconds }))
    t.match(await command({ CONTROL_TOKEN: 'x' }, 'orgs', 'list', '--control-url', url), {
      code: 1,
      out: '',
      err: `clinigate: ${says}\n`
    })
  }
  const url = await refusing(t, new Failure('BACKEND_UNAVAILABLE', { message: 'It is full.', retryAfterSeconds: 20 }))
  t.match(await command({ CLINIGATE_API_KEY: 'x' }, 'bulk', 'jobs', '--url', url), {
    code: 2,
    out: '',
    err: 'error: It is full. Try again in 20 seconds.'
  })
})

t.test('a command whose token is refused names the variable that has it', async t => {
  const url = await refusing(
    t,
    new Failure('UNAUTHORIZED', {
      message: 'Send a valid management token in the header Authorization: Bearer <token>.'
    })
  )
  t.match(await command({ CONTROL_TOKEN: 'x' }, 'orgs', 'list', '--control-url', url), {
    code: 1,
    err: /variable CONTROL_TOKEN/
  })
})

t.test('the failure of a job, which is read at any time, names neither a header nor a number of seconds', async t => {
  const told: unknown[] = []
  const running = new RunningJob(
    { job: { id: 'job-x', owner: { keyId: 'key-x' } }, lease: { jobId: 'job-x', number: 1 }, failures: 0 } as never,
    {
      jobs: {
        save: async (_: unknown, change: unknown) => {
          told.push(change)
          return 'going on'
        },
        release: async () => {}
      },
      spool: { of: () => ({}) },
      doJob: async () => {
        throw new PermanentFailure('BACKEND_UNAVAILABLE', { message: 'It is full.', retryAfterSeconds: 20 })
      },
      isRevoked: () => false,
      leaseMs: 30_000,
      log: { child: () => ({ warn () {}, info () {} }) }
    } as never,
    performance.now()
  )
  await running.done
  t.match(told.at(-1), {
    end: { status: 'failed', failure: { code: 'BACKEND_UNAVAILABLE', message: 'It is full. Try again later.' } }
  })
})

t.test(
  'the time to try again is in the header and in the message, and no message sends its reader to the header',
  async t => {
    const failure = new Failure('RATE_LIMITED', { retryAfterSeconds: 7 })
    t.match(
      [failure.headers['retry-after'], failure.message, failure.lastingMessage],
      ['7', 'Try again in 7 seconds.', 'Try again later.']
    )
    for (const { remedy } of Object.values(catalog)) t.notMatch(remedy, /Retry-After/)
  }
)
