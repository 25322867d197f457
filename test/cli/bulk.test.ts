import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { test, type Test } from 'tap'
import { startGateway, type TestGateway } from '../harness/gateway.js'
import { waitUntil } from '../harness/until.js'
import { runCommand, start, type Ended } from './command.js'
import { startFaultyProxy, type Seen } from './faulty-proxy.js'

interface World {
  readonly gateway: TestGateway
  readonly secret: string
  readonly directory: string
  readonly bulk: (...args: string[]) => Promise<Ended>
  readonly env: Record<string, string>
}

// Not from the configuration: a wrong one would stop every command that reads it.
const noConfiguration = { CLINIGATE_CONFIG: '/nowhere/config.json', CLINIGATE_DATA: '/dev/null/data' }

async function open (t: Test, directory: string): Promise<World> {
  const gateway = await startGateway(t)
  const { secret } = await gateway.createKey({ plan: 'enterprise' })
  const env = { ...noConfiguration, CLINIGATE_URL: gateway.url, CLINIGATE_API_KEY: secret }
  return { gateway, secret, directory, env, bulk: (...args) => runCommand(env, 'bulk', ...args) }
}

const buildPatientLine = (number: number, more = {}): string =>
  `${JSON.stringify({ firstName: `Ada${number}`, lastName: 'Lovelace', ...more })}\n`
const buildPatientLines = (count: number): string => Array.from({ length: count }, (_, i) => buildPatientLine(i)).join('')
const readLines = (file: string): any[] =>
  readFileSync(file, 'utf8')
    .split('\n')
    .filter(line => line !== '')
    .map(line => JSON.parse(line))
const findJobId = (text: string): string => /job-[a-z2-7]{26}/.exec(text)![0]

test('4,000 lines are imported, each with its result in order, and exported again', { timeout: 300_000 }, async t => {
  const { bulk, directory } = await open(t, t.testdir())
  const file = join(directory, 'patients.ndjson')
  writeFileSync(file, buildPatientLines(4_000))
  const imported = await bulk('import', file, '--type', 'patients', '--json')
  t.equal(imported.code, 0, imported.err)
  t.match(JSON.parse(imported.out), {
    status: 'completed',
    lines: 4_000,
    counts: { created: 4_000 },
    failures: [],
    results: `${file}.results.ndjson`
  })
  t.same(readLines(`${file}.results.ndjson`).map(({ line }) => line), Array.from({ length: 4_000 }, (_, i) => i + 1))
  const to = join(directory, 'out')
  const exported = await bulk('export', '--types', 'patients', '--format', 'simple', '--to', to, '--json')
  t.equal(exported.code, 0, exported.err)
  t.match(JSON.parse(exported.out), {
    status: 'completed',
    directory: to,
    records: 4_000,
    files: [{ file: 'Patient.ndjson', resourceType: 'Patient', count: 4_000 }]
  })
  t.equal(new Set(readLines(join(to, 'Patient.ndjson')).map(({ firstName }) => firstName)).size, 4_000)
  t.same(readdirSync(to).sort(), ['Patient.ndjson', 'export.json'])
})

test('lines that fail are reported with number, code and field, and end the command with 1; none of their values is repeated', async t => {
  const { bulk, directory } = await open(t, t.testdir())
  const file = join(directory, 'some.ndjson')
  writeFileSync(file, [buildPatientLine(1), buildPatientLine(2, { colour: 'violet' }), '{"firstName":\n', buildPatientLine(3)].join(''))
  const { code, out, err } = await bulk('import', file, '--type', 'patients')
  t.equal(code, 1, err)
  t.match(out, /4 lines: 2 created, 2 failed|4 lines: .*2 failed/)
  t.match(out, /line 2: VALIDATION_ERROR colour: /)
  t.notMatch(out, /colour: colour/, 'the field was named twice')
  t.match(out, /line 3: INVALID_JSON /)
  t.notMatch(out + err, /violet|Ada|Lovelace/)
  t.same(
    readLines(`${file}.results.ndjson`).map(({ status }) => status),
    ['created', 'failed', 'failed', 'created']
  )
  t.equal((await bulk('import', file, '--type', 'patients')).code, 2, 'results are not overwritten')
  t.equal((await bulk('import', file, '--type', 'patients', '--force')).code, 1)
})

test('a dry run checks every line and writes nothing; a gzip file is sent unchanged', async t => {
  const { bulk, directory } = await open(t, t.testdir())
  const file = join(directory, 'patients.ndjson.gz')
  writeFileSync(file, gzipSync(buildPatientLines(50)))
  t.match(await bulk('import', file, '--type', 'patients', '--dry-run'), { code: 0, out: /50 lines: 50 valid/ })
  t.match(await bulk('export', '--types', 'patients', '--to', join(directory, 'out')), { code: 0, out: /^0 records/ })
  t.match(await bulk('import', file, '--type', 'patients', '--force'), { code: 0, out: /50 lines: 50 created/ })
})

test('standard input is imported as a stream', async t => {
  const { env, directory } = await open(t, t.testdir())
  const results = join(directory, 'results.ndjson')
  const { child, ended } = start(env, 'bulk', 'import', '-', '--type', 'patients', '--results', results, '--json')
  for (let i = 0; i < 200; i++) child.stdin!.write(buildPatientLine(i))
  child.stdin!.end()
  const { code, out, err } = await ended
  t.equal(code, 0, err)
  t.match(JSON.parse(out), { lines: 200, counts: { created: 200 } })
  t.equal(readLines(results).length, 200)
})

test(
  'a download whose connection breaks is resumed by ranges until it is complete',
  { timeout: 300_000 },
  async t => {
    const { bulk, directory, gateway } = await open(t, t.testdir())
    await importPatients(bulk, directory, 3_000)
    const isFile = ({ method, url }: Seen): boolean => method === 'GET' && url.endsWith('/files/Patient.ndjson')
    const proxy = await startFaultyProxy(t, gateway.url, now =>
      isFile(now) ? { cutAfter: now.headers.range === undefined ? 20_000 : 150_000 } : 'passed'
    )
    const to = join(directory, 'cut')
    const { code, err } = await bulk('export', '--types', 'patients', '--to', to, '--url', proxy.url)
    t.equal(code, 0, err)
    const requested = proxy.seen.filter(isFile)
    t.ok(requested.length > 2, `it broke ${requested.length} times`)
    t.equal(requested[0]!.headers['accept-encoding'], 'gzip')
    for (const { headers } of requested.slice(1)) t.match(headers, { range: /^bytes=[1-9]\d*-$/, 'if-range': /^"/ })
    t.equal((await bulk('export', '--types', 'patients', '--to', join(directory, 'direct'))).code, 0)
    t.same(readSortedLines(join(to, 'Patient.ndjson')), readSortedLines(join(directory, 'direct', 'Patient.ndjson')))
    t.same(readdirSync(to).sort(), ['Patient.ndjson', 'export.json'])
  }
)

test(
  'an export that was interrupted in a download resumes it, with the part it had',
  { timeout: 300_000 },
  async t => {
    const { bulk, directory, gateway, env } = await open(t, t.testdir())
    await importPatients(bulk, directory, 3_000)
    const isFile = ({ method, url }: Seen): boolean => method === 'GET' && url.includes('/files/')
    let isFaulty = true
    const proxy = await startFaultyProxy(t, gateway.url, now => (isFaulty && isFile(now) ? { holdAfter: 20_000 } : 'passed'))
    const to = join(directory, 'a directory')
    const { child, ended } = start(
      { ...env, CLINIGATE_URL: proxy.url },
      'bulk',
      'export',
      '--types',
      'patients',
      '--to',
      to
    )
    await waitUntil(
      () =>
        existsSync(to) &&
        readdirSync(to).some(name => name.endsWith('.part')) &&
        readFileSync(
          join(
            to,
            readdirSync(to).find(name => name.endsWith('.part'))!
          )
        ).length > 0
    )
    child.kill('SIGINT')
    const { code, err } = await ended
    t.equal(code, 130)
    t.match(err, `clinigate bulk export --job ${findJobId(err)} --to '${to}'`)
    t.notOk(existsSync(join(to, 'Patient.ndjson')), 'no half of a file has its name')
    isFaulty = false
    const request = proxy.seen.length
    const again = await bulk('export', '--job', findJobId(err), '--to', to, '--url', proxy.url)
    t.equal(again.code, 0, again.err)
    t.match(proxy.seen.slice(request).find(isFile)!.headers, { range: /^bytes=[1-9]\d*-$/ })
    t.equal(readLines(join(to, 'Patient.ndjson')).length, 3_000)
    t.match(
      await bulk('export', '--job', findJobId(err), '--to', to),
      { code: 0, out: /3,000 records/ },
      'what is there is not fetched again'
    )
  }
)

async function importPatients (bulk: World['bulk'], directory: string, count: number): Promise<void> {
  const file = join(directory, 'in.ndjson')
  writeFileSync(file, buildPatientLines(count))
  const { code, err } = await bulk('import', file, '--type', 'patients')
  if (code !== 0) throw new Error(err)
}

const readSortedLines = (file: string): string[] => readFileSync(file, 'utf8').split('\n').sort()

test('an export overwrites existing files only with --force', async t => {
  const { bulk, directory } = await open(t, t.testdir())
  await importPatients(bulk, directory, 3)
  const to = join(directory, 'out')
  mkdirSync(to)
  writeFileSync(join(to, 'Patient.ndjson'), 'mine')
  t.match(await bulk('export', '--to', to), { code: 2, out: '', err: /--force/ })
  t.equal(readFileSync(join(to, 'Patient.ndjson'), 'utf8'), 'mine')
  t.match(
    JSON.parse((await bulk('jobs', '--json')).out).map(({ type }: { type: string }) => type),
    ['import'],
    'nothing was begun'
  )
  t.match(await bulk('export', '--to', to, '--force'), { code: 0, out: /3 records/ })
  t.equal(readLines(join(to, 'Patient.ndjson')).length, 3)
  const other = findJobId((await bulk('export', '--to', join(directory, 'other'))).err)
  t.match(await bulk('export', '--job', other, '--to', to), { code: 2, err: /--force/ })
})

test(
  'an interrupted upload is retried from a file, and from a pipe is reported as having done nothing',
  { timeout: 120_000 },
  async t => {
    const { bulk, directory, gateway, env } = await open(t, t.testdir())
    const isUpload = ({ url }: Seen): boolean => url.startsWith('/v1/bulk/import')
    const proxy = await startFaultyProxy(t, gateway.url, (now, before) =>
      isUpload(now) && !before.some(isUpload) ? { cutBodyAfter: 100_000 } : 'passed'
    )
    const file = join(directory, 'patients.ndjson')
    // Larger than what the connection buffers before the server reads.
    const blank = `${' '.repeat(1_000)}\n`.repeat(8_000)
    writeFileSync(file, buildPatientLines(10) + blank)
    const { code, out, err } = await bulk('import', file, '--type', 'patients', '--url', proxy.url)
    t.equal(code, 0, err)
    t.match(out, /10 created/)
    t.equal(proxy.seen.filter(isUpload).length, 2)
    t.equal(JSON.parse((await bulk('jobs', '--json')).out).length, 1)

    const second = await startFaultyProxy(t, gateway.url, now => (isUpload(now) ? { cutBodyAfter: 100_000 } : 'passed'))
    const { child, ended } = start(
      { ...env, CLINIGATE_URL: second.url },
      'bulk',
      'import',
      '-',
      '--results',
      join(directory, 'piped')
    )
    child.stdin!.on('error', () => {})
    child.stdin!.end(blank)
    t.match(await ended, { code: 2, out: '', err: /Nothing was imported/ })
    t.equal(JSON.parse((await bulk('jobs', '--json')).out).length, 1)
  }
)

test(
  'responses with Retry-After and broken connections are retried',
  { timeout: 120_000 },
  async t => {
    const { bulk, directory, gateway } = await open(t, t.testdir())
    const count = new Map<string, number>()
    const proxy = await startFaultyProxy(t, gateway.url, ({ method, url }) => {
      const what = `${method} ${url.replace(/job-[a-z2-7]+/, 'job')}`
      const times = (count.get(what) ?? 0) + 1
      count.set(what, times)
      if (times === 1) {
        return {
          status: 503,
          headers: { 'retry-after': '0' },
          body: JSON.stringify({ message: 'Come again.', issues: [] })
        }
      }
      if (times === 2 && method === 'GET') return { cutAfter: 0 }
      if (times === 2) {
        return {
          status: 429,
          headers: { 'retry-after': '0' },
          body: JSON.stringify({ message: 'Come again.', issues: [] })
        }
      }
      return 'passed'
    })
    const file = join(directory, 'patients.ndjson')
    writeFileSync(file, buildPatientLines(5))
    const imported = await bulk('import', file, '--type', 'patients', '--url', proxy.url)
    t.match(imported, { code: 0, out: /5 created/ }, imported.err)
    const exported = await bulk('export', '--types', 'patients', '--to', join(directory, 'out'), '--url', proxy.url)
    t.match(exported, { code: 0, out: /5 records/ }, exported.err)
  }
)

test('a key that is wrong, revoked or missing is reported before anything is sent, and never printed', async t => {
  const { directory, env, secret } = await open(t, t.testdir())
  const file = join(directory, 'patients.ndjson')
  writeFileSync(file, buildPatientLines(5))
  const wrong = `${secret.slice(0, -6)}aaaaaa`
  for (const args of [
    ['import', file],
    ['export', '--to', join(directory, 'out')],
    ['jobs'],
    ['cancel', `job-${'a'.repeat(26)}`]
  ]) {
    const { code, out, err } = await runCommand({ ...env, CLINIGATE_API_KEY: wrong }, 'bulk', ...args)
    t.same([code, out], [2, ''], args.join(' '))
    t.ok(err.length > 10 && !err.includes(wrong.slice(10)), err)
    t.match(await runCommand({ ...env, CLINIGATE_API_KEY: '' }, 'bulk', ...args), {
      code: 2,
      out: '',
      err: /CLINIGATE_API_KEY/
    })
    t.match(await runCommand({ ...env, CLINIGATE_API_KEY: 'a\nb' }, 'bulk', ...args), {
      code: 2,
      out: '',
      err: /does not contain a key/
    })
  }
})

test('invalid arguments, or an address without a gateway, end with 2', async t => {
  const { directory, env, bulk, gateway } = await open(t, t.testdir())
  const elsewhere = await startFaultyProxy(t, gateway.url, () => ({ status: 404, body: '<html>' }))
  const cases: Array<[RegExp, ...string[]]> = [
    [/https/, 'jobs', '--url', 'http://api.example.org'],
    [/the form https/, 'jobs', '--url', 'ftp://x'],
    [/not a gateway \(status 404\)/, 'jobs', '--url', elsewhere.url],
    [/A job id/, 'jobs', '../keys'],
    [/Name the file/, 'import'],
    [/does not exist/, 'import', join(directory, 'missing')],
    [/directory/, 'import', directory],
    [/at least one line/, 'import', '/dev/null'],
    [/resourceTypes\[0\]/, 'export', '--types', 'dragons', '--to', join(directory, 'out')],
    [/2030-01-31/, 'export', '--since', 'yesterday', '--to', join(directory, 'out')],
    [/--to/, 'export']
  ]
  for (const [text, ...args] of cases) {
    const { code, out, err } = await bulk(
      ...args,
      ...(args[0] === 'import' ? ['--results', join(directory, 'results')] : [])
    )
    t.same([code, out], [2, ''], args.join(' '))
    t.match(err, text)
  }
  t.match(await runCommand({ ...env, CLINIGATE_URL: 'http://127.0.0.1:1' }, 'bulk', 'jobs'), {
    code: 2,
    err: /does not respond \(ECONNREFUSED\)/
  })
})

test(
  'an interrupted command leaves its job running, or cancels it where requested',
  { timeout: 300_000 },
  async t => {
    const { bulk, directory, env, gateway } = await open(t, t.testdir())
    // While held, each job seems to run for ever.
    let isHeld = true
    const proxy = await startFaultyProxy(t, gateway.url, ({ method, url }) =>
      isHeld && method === 'GET' && /jobs\/job-[a-z2-7]+$/.test(url)
        ? { status: 503, headers: { 'retry-after': '1' } }
        : 'passed'
    )
    // Of two files, since the records that one job has written would be unchanged for the other.
    const [file, other] = [join(directory, 'patients.ndjson'), join(directory, 'others.ndjson')]
    writeFileSync(file, buildPatientLines(2_000))
    writeFileSync(other, buildPatientLines(4_000).slice(buildPatientLines(2_000).length))
    const interruptImport = async (file: string, ...args: string[]): Promise<Ended> => {
      const { child, ended } = start(
        { ...env, CLINIGATE_URL: proxy.url },
        'bulk',
        'import',
        file,
        '--type',
        'patients',
        ...args
      )
      child.stderr!.on('data', text => {
        if (/is running as job/.test(text)) child.kill('SIGINT')
      })
      return await ended
    }
    const left = await interruptImport(file)
    t.match(left, { code: 130, out: '', err: /keeps running/ })
    const jobId = findJobId(left.err)
    const cancelled = await interruptImport(other, '--cancel-on-interrupt')
    t.match(cancelled, { code: 130, out: '', err: /The job was cancelled|had already ended/ })
    isHeld = false
    const results = `${file}.results.ndjson`
    t.match(left.err, `clinigate bulk import --job ${jobId} --results ${results}`)
    const { code, out, err } = await bulk('import', '--job', jobId, '--results', results)
    t.equal(code, 0, err)
    t.match(out, /2,000 lines: 2,000 created/)
  }
)

test(
  'an import that is interrupted while its lines are sent ends at once, and reports that nothing was imported',
  { timeout: 120_000 },
  async t => {
    const { bulk, directory, env, gateway } = await open(t, t.testdir())
    const proxy = await startFaultyProxy(t, gateway.url, () => 'passed')
    const { child, ended } = start(
      { ...env, CLINIGATE_URL: proxy.url },
      'bulk',
      'import',
      '-',
      '--results',
      join(directory, 'results')
    )
    child.stdin!.write(buildPatientLine(1))
    await waitUntil(() => proxy.seen.some(({ method }) => method === 'POST'))
    child.kill('SIGINT')
    t.match(await ended, { code: 130, out: '', err: /^Not all lines were sent\. Nothing was imported\.\n$/ })
    t.equal((await bulk('jobs')).out, 'No jobs.\n')
  }
)

test('jobs are listed and shown, and a job that has ended is not cancelled', async t => {
  const { bulk, directory } = await open(t, t.testdir())
  t.match(await bulk('jobs'), { code: 0, out: 'No jobs.\n' })
  await importPatients(bulk, directory, 3)
  const [job] = JSON.parse((await bulk('jobs', '--json')).out)
  t.match(job, { type: 'import', status: 'completed', processedRecords: 3 })
  t.match(await bulk('jobs'), { code: 0, out: new RegExp(`^${job.id}  import  completed   +3 records  +0 failed`) })
  t.match(await bulk('jobs', job.id), { code: 0, out: /3 records in all/ })
  t.match(JSON.parse((await bulk('jobs', job.id, '--json')).out), { id: job.id })
  t.match(await bulk('cancel', job.id), { code: 1, err: /had already ended with status completed/ })
  t.match(await bulk('cancel', `job-${'a'.repeat(26)}`), { code: 2, out: '' })
  t.match(await bulk('export', '--job', job.id, '--to', join(directory, 'x')), { code: 2, err: /job is an import/ })
})

test('a file whose name leads out of the directory is not written', async t => {
  const { bulk, directory, gateway } = await open(t, t.testdir())
  const job = {
    id: `job-${'a'.repeat(26)}`,
    type: 'export',
    status: 'completed',
    processedRecords: 1,
    failedRecords: 0,
    errors: [],
    createdAt: '',
    expiresAt: '',
    files: [{ resourceType: 'Patient', count: 1, url: `${gateway.url}/v1/x/files/..%2F..%2Fevil.ndjson` }]
  }
  const proxy = await startFaultyProxy(t, gateway.url, ({ method }) => ({
    status: 200,
    body: JSON.stringify({ data: method === 'POST' ? { jobId: job.id } : job })
  }))
  t.match(await bulk('export', '--to', join(directory, 'out'), '--url', proxy.url), {
    code: 2,
    err: /used a file name/
  })
  t.same(readdirSync(join(directory, 'out')), ['export.json'])
})
