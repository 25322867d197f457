import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import t, { type Test } from 'tap'
import { catalog, Failure } from '../../src/envelope/failures.js'
import { PermanentFailure } from '../../src/jobs/job-context.js'
import { RunningJob } from '../../src/jobs/running-job.js'
import { run } from '../../src/operator/cli/run.js'
import { readCriteria } from '../../src/operator/ownership-scan/adopt-criteria.js'
import { startGateway } from '../harness/gateway.js'
import { until } from '../harness/until.js'
import { command } from './command.js'

// HAPI passes over a modifier that a parameter does not have: `birthdate:not=1970-01-01` adopted the one patient born
// on that day.
t.test('records are adopted by no modifier that their search parameter does not have', async t => {
  for (const search of [
    'Patient?birthdate:not=1970-01-01',
    'Patient?family:not=x',
    'Patient?gender:exact=male',
    'Patient?name:sounds=x',
    'Patient?family:missing=1',
    'Patient?active:missing:not=true',
    'Observation?subject:Patient.name:not=x',
    'Patient?_has:Observation:subject:code:not=x',
    'Patient?_tag:not=x'
  ]) {
    t.throws(() => readCriteria(search), { message: /modifier/ }, search)
  }
  for (const search of [
    'Patient?gender:not=male',
    'Patient?family:exact=x',
    'Patient?family:missing=true',
    'Observation?subject:Patient=1',
    'Observation?subject:Patient.name=x',
    'Observation?code:text=x',
    'Patient?_has:Observation:subject:code=x'
  ]) {
    t.doesNotThrow(() => readCriteria(search), search)
  }
})

const hash = 'a'.repeat(64)

// It alarmed with "shortened" and the exit code of a log that was tampered with.
t.test(
  'a known line that cannot be one is refused as a mistake of the command, not told as missing from the log',
  async t => {
    const file = join(t.testdir(), 'access.log')
    writeFileSync(file, '')
    for (const known of [
      'nonsense',
      '41893',
      `1:${hash.slice(1)}`,
      `1:${hash} `,
      `:${hash}`,
      `1:${hash.toUpperCase()}`
    ]) {
      t.match(
        await command({}, 'audit-log', 'verify', file, '--known', known),
        { code: 2, out: '', err: /a line number, a colon and a hash of 64 characters/ },
        known
      )
    }
    t.match(await command({}, 'audit-log', 'verify', file, '--known', `1:${hash}`), {
      code: 1,
      out: /"status":"shortened"/
    })
  }
)

t.test('a directory in the place of the log is told in words', async t => {
  t.match(await command({}, 'audit-log', 'verify', t.testdir()), {
    code: 1,
    out: '',
    err: 'clinigate: it is a directory; use the path of the file, as in auditLog.file\n'
  })
})

// It said "file is not a database" or "no such table: waiting", or spoke of the data directory where another file was
// meant.
t.test('a ledger that is missing, no database or another database is told by its name, with what to do', async t => {
  const directory = t.testdir({ 'text.db': 'no database, but long enough to be taken for one'.repeat(50) })
  new Database(join(directory, 'other.db')).exec('CREATE TABLE x (y)').close()
  for (const name of ['missing.db', 'text.db', 'other.db']) {
    const file = join(directory, name)
    const { code, out, err } = await command(
      { CLINIGATE_DATA: directory },
      'usage',
      'recompute',
      '--month',
      '2030-01',
      '--ledger',
      file
    )
    t.strictSame([code, out], [1, ''])
    t.ok(err.startsWith(`clinigate: ${file} cannot be read as a ledger (SQLITE_`), err)
    t.match(err, '--ledger')
  }
  t.match(await command({ CLINIGATE_DATA: directory }, 'usage', 'recompute', '--month', '2030-01'), {
    code: 1,
    err: /usage\.db cannot be read as a ledger .* CLINIGATE_DATA/
  })
})

// The command answered with who belongs to what, and named no option.
t.test('a token of the command line says which option its role lacks or has too many', async t => {
  const create = (...args: string[]) => command({}, 'tokens', 'create', '--name', 'ci', ...args)
  for (const role of ['admin', 'viewer']) {
    t.match(await create('--role', role), {
      code: 2,
      out: '',
      err: `error: a token with the role ${role} belongs to an organization; name it with --tenant <tenantId>. clinigate orgs list prints all.\n`
    })
  }
  for (const role of ['operator', 'gateway']) {
    t.match(await create('--role', role, '--tenant', 'org-x'), {
      code: 2,
      out: '',
      err: `error: a token with the role ${role} belongs to no organization; leave out --tenant.\n`
    })
  }
})

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

t.test('a key that was sent as nothing is one that was not sent', async t => {
  const { inject } = await startGateway(t)
  for (const key of ['', ' ']) {
    t.match((await inject({ url: '/v1/patients', headers: { 'x-api-key': key } })).json(), { code: 'UNAUTHORIZED' })
  }
})

t.test('the methods that raw FHIR allows have HEAD among them wherever it is answered', async t => {
  const gateway = await startGateway(t)
  const { secret } = await gateway.createKey()
  const allowOf = async (method: 'PUT' | 'POST' | 'DELETE', path: string) =>
    (await gateway.inject({ method, url: `/v1/fhir/${path}`, headers: { 'x-api-key': secret } })).headers.allow
  t.equal(await allowOf('DELETE', 'Patient/x/_history'), 'GET, HEAD')
  t.equal(await allowOf('POST', 'Patient/x'), 'GET, HEAD, PUT, PATCH, DELETE')
  t.equal(await allowOf('PUT', '$export'), 'GET, POST', 'which a HEAD would begin')
})

t.test('a question for another statement is not answered with this one', async t => {
  const { inject } = await startGateway(t)
  t.match(
    [
      (await inject('/v1/fhir/metadata?mode=terminology')).statusCode,
      (await inject('/v1/fhir/metadata?mode=full')).statusCode
    ],
    [400, 200]
  )
})

t.test('a gateway tells its control plane of its bulk jobs as it tells its health', async t => {
  const gateway = await startGateway(t)
  await until(async () => (await gateway.control.gateways.list()).some(({ checks }) => checks.bulk === 'ok'))
  t.match((await gateway.inject('/health')).json().data.checks, { bulk: { status: 'ok' } })
})

t.test('a command tells its version and times as they are written', async t => {
  const said = async (...args: string[]) => {
    const out: string[] = []
    const print = (text: string): void => { out.push(text) }
    const code = await run(args, {
      environment: {},
      user: 'ann',
      now: () => new Date(),
      out: print,
      err: print,
      streams: process
    })
    return { code, text: out.join('') }
  }
  t.match(await said('--version'), { code: 0, text: /^\d+\.\d+\.\d+/ })
  t.match(await said('keys', 'roll', '--help'), { code: 0, text: /\(default: 1h\)/ })
})
