import { createServer } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { RunningJob } from '../../src/bulk/running-job.js'
import { FinalFailure } from '../../src/bulk/work.js'
import { catalog } from '../../src/envelope/failures.js'
import { sayWhen } from '../../src/envelope/say-when.js'
import { command } from '../cli/command.js'

/** A server that refuses everything in the words of a gateway. */
async function refusing (t: Test, status: number, message: string, retryAfter?: string): Promise<string> {
  const server = createServer((_, answer) => {
    answer.writeHead(status, { 'content-type': 'application/json', ...retryAfter !== undefined && { 'retry-after': retryAfter } })
    answer.end(JSON.stringify({ data: null, message, issues: [] }))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const later = catalog.BACKEND_UNAVAILABLE.remedy

t.test('a command says when to try again, or to try later where it is not known', async t => {
  for (const [retryAfter, says] of [['20', 'Try again in 20 seconds.'], ['1', 'Try again in 1 second.'], [undefined, 'Try again later.']] as const) {
    const url = await refusing(t, 503, later, retryAfter)
    t.match(await command({ CONTROL_TOKEN: 'x' }, 'orgs', 'list', '--control-url', url), { code: 1, out: '', err: `clinigate: ${says}\n` })
  }
  const url = await refusing(t, 503, later, '20')
  t.match(await command({ CLINIGATE_API_KEY: 'x' }, 'bulk', 'jobs', '--url', url), { code: 2, out: '', err: 'error: Try again in 20 seconds.' })
})

t.test('a command whose token is refused names the variable that has it', async t => {
  const url = await refusing(t, 401, 'Send a valid management token in the header Authorization: Bearer <token>.')
  t.match(await command({ CONTROL_TOKEN: 'x' }, 'orgs', 'list', '--control-url', url), { code: 1, err: /variable CONTROL_TOKEN/ })
})

t.test('the failure of a job names no header', async t => {
  const told: unknown[] = []
  const running = new RunningJob({ job: { id: 'job-x', owner: { keyId: 'key-x' } }, lease: { jobId: 'job-x', number: 1 }, failures: 0 } as never, {
    jobs: { save: async (_: unknown, change: unknown) => { told.push(change); return 'going on' }, release: async () => {} },
    spool: { of: () => ({}) },
    doJob: async () => { throw new FinalFailure('BACKEND_UNAVAILABLE') },
    isRevoked: () => false,
    leaseMs: 30_000,
    log: { child: () => ({ warn () {}, info () {} }) }
  } as never, performance.now())
  await running.done
  t.match(told.at(-1), { end: { status: 'failed', failure: { code: 'BACKEND_UNAVAILABLE', message: 'Try again later.' } } })
})

t.test('every message that names the header can be said without it', async t => {
  for (const { remedy } of Object.values(catalog)) t.notMatch(sayWhen(remedy), /Retry-After/)
})
