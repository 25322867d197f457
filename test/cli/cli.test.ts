import t, { type Test } from 'tap'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { run } from '../../src/operator/cli/run.js'
import { readSecret } from '../../src/keys/secret.js'
import { runCommand } from './command.js'

const now = () => new Date('2030-01-01T00:00:00Z')

/** The command in this process, on a data directory of the test. */
function createCli (dataDirectory: string, environment: Record<string, string> = {}) {
  return async (...args: string[]) => {
    let out = ''
    let err = ''
    const code = await run(args, {
      environment: { CLINIGATE_DATA: dataDirectory, ...environment },
      user: 'ann',
      now,
      out: text => { out += text },
      err: text => { err += text },
      streams: process
    })
    return { code, out, err, json: out.startsWith('{') || out.startsWith('[') ? JSON.parse(out) : undefined }
  }
}

async function withOrganization (t: Test) {
  const clinigate = createCli(join(t.testdir(), 'data'))
  const { json } = await clinigate('orgs', 'create', '--name', 'Clinic', '--plan', 'pro')
  return { clinigate, tenantId: json.tenantId as string }
}

t.test('an organization and its keys are created, shown, rolled, set to expire and revoked', async t => {
  const { clinigate, tenantId } = await withOrganization(t)
  const made = await clinigate(
    'keys',
    'create',
    '--tenant',
    tenantId,
    '--mode',
    'live',
    '--scopes',
    'read,write',
    '--expires',
    '2031-01-01T02:00:00+02:00',
    '--name',
    'app'
  )
  t.equal(made.code, 0)
  t.equal(made.err, '')
  t.same(readSecret(made.json.secret), { mode: 'live' })
  const { keyId } = made.json
  const listed = await clinigate('keys', 'list', '--tenant', tenantId)
  t.match(listed.json, [
    {
      keyId,
      tenantId,
      name: 'app',
      mode: 'live',
      scopes: ['read', 'write'],
      expiresAt: '2031-01-01T00:00:00.000Z',
      createdBy: 'cli:ann'
    }
  ])
  t.notMatch(listed.out, made.json.secret.slice(9, 40))

  const rolled = await clinigate('keys', 'roll', keyId, '--overlap', '30m')
  t.match(rolled.json, {
    keyId: /^key-/,
    secret: /^svc_live_/,
    previous: { keyId, expiresAt: '2030-01-01T00:30:00.000Z' }
  })
  t.match((await clinigate('keys', 'expire', rolled.json.keyId, '--at', '2030-02-01')).json, {
    expiresAt: '2030-02-01T00:00:00.000Z'
  })
  t.match((await clinigate('keys', 'revoke', rolled.json.keyId)).json, {
    keyId: rolled.json.keyId,
    revokedAt: '2030-01-01T00:00:00.000Z'
  })

  t.strictSame(Object.keys((await clinigate('keys', 'create', '--tenant', tenantId, '--mode', 'test')).json), [
    'keyId',
    'secret'
  ])
})

t.test('a change of an organization affects only the named members', async t => {
  const { clinigate, tenantId } = await withOrganization(t)
  t.match((await clinigate('orgs', 'update', tenantId, '--overage', 'off')).json, {
    tenantId,
    name: 'Clinic',
    plan: 'pro',
    overage: false
  })
  t.match((await clinigate('orgs', 'update', tenantId, '--plan', 'team')).json, { plan: 'team', overage: false })
  t.match((await clinigate('orgs', 'list')).json, [{ tenantId, plan: 'team' }])
})

t.test('a result is JSON on standard output: one object per line', async t => {
  const { clinigate } = await withOrganization(t)
  const { out } = await clinigate('orgs', 'create', '--name', 'x', '--plan', 'sandbox')
  t.match(out, /^\{"tenantId":"org-[a-z2-7]{26}"\}\n$/)
})

t.test('an impossible operation ends with 1 and one line with what to do', async t => {
  const { clinigate, tenantId } = await withOrganization(t)
  const cases: Array<[RegExp, ...string[]]> = [
    [/no plan with this name\. Use one of: .*enterprise/, 'orgs', 'create', '--name', 'x', '--plan', 'gold'],
    [/no organization with this tenant id.*CLINIGATE_DATA/, 'keys', 'create', '--tenant', 'org-x', '--mode', 'test'],
    [/no organization with this tenant id/, 'keys', 'list', '--tenant', 'org-x'],
    [/no key with this id/, 'keys', 'revoke', 'key-x'],
    [/scopes of a key must be/, 'keys', 'create', '--tenant', tenantId, '--mode', 'test', '--scopes', 'admin'],
    [
      /time in the future/,
      'keys',
      'create',
      '--tenant',
      tenantId,
      '--mode',
      'test',
      '--expires',
      '2020-01-01T00:00:00Z'
    ]
  ]
  for (const [line, ...args] of cases) {
    const { code, out, err } = await clinigate(...args)
    t.same([code, out], [1, ''], args.join(' '))
    t.match(err, line)
    t.match(err, /^clinigate: [^\n]+\n$/)
  }
})

t.test('invalid arguments end with 2 and do nothing', async t => {
  const { clinigate, tenantId } = await withOrganization(t)
  const create = ['keys', 'create', '--tenant', tenantId, '--mode', 'test']
  const cases: string[][] = [
    [],
    ['keys'],
    ['keys', 'make'],
    ['orgs', 'create', '--name', 'x'],
    ['orgs', 'create', '--plan', 'pro'],
    ['keys', 'revoke'],
    ['keys', 'create', '--tenant', tenantId],
    ['keys', 'create', '--tenant', tenantId, '--mode', 'prod'],
    [...create, '--scope', 'read'],
    [...create, 'more'],
    ...['tomorrow', '2030-02-30', '2031-01-01T00:00:00', '2031-01-01T25:00:00Z', '2031', ''].map(time => [
      ...create,
      '--expires',
      time
    ]),
    ...['1w', '-1h', 'h', '1.5h', ''].map(time => ['keys', 'roll', 'key-x', '--overlap', time])
  ]
  for (const args of cases) {
    const { code, out, err } = await clinigate(...args)
    t.same([code, out], [2, ''], args.join(' '))
    t.ok(err.length > 0)
  }
  t.same((await clinigate('keys', 'list', '--tenant', tenantId)).json, [])
})

t.test('--help ends with 0', async t => {
  for (const args of [['--help'], ['keys', '--help'], ['keys', 'create', '--help']]) {
    const { code, out } = await createCli('unused')(...args)
    t.equal(code, 0)
    t.match(out, /Usage: clinigate/)
  }
})

t.test('a data directory is created for its owner alone', async t => {
  const directory = join(t.testdir(), 'a', 'b')
  await createCli(directory)('orgs', 'list')
  t.equal(statSync(directory).mode & 0o777, 0o700)
})

t.test('an unusable data directory, or a bad configuration, is one clear error', async t => {
  const directory = t.testdir({
    file: 'x',
    broken: { 'control.db': 'this is no database, but a text that is long enough for one' }
  })
  t.match(await createCli(join(directory, 'file'))('orgs', 'list'), {
    code: 1,
    err: /^clinigate: [^\n]* must be a directory, but is a file[^\n]*\n$/
  })
  t.match(await createCli(join(directory, 'broken'))('orgs', 'list'), {
    code: 1,
    err: /^clinigate: control.db[^\n]*not a database[^\n]*\n$/
  })
  t.match(await createCli(directory, { PORT: 'many' })('orgs', 'list'), { code: 1, err: /PORT: must be integer/ })
})

t.test('commands work while every datastore is down', async t => {
  const { code } = await createCli(join(t.testdir(), 'data'), {
    FHIR_TEST_URL: 'http://127.0.0.1:1/fhir',
    FHIR_LIVE_URL: 'http://127.0.0.1:1/fhir'
  })('orgs', 'create', '--name', 'x', '--plan', 'pro')
  t.equal(code, 0)
})

t.test('several processes that start at once on a new data directory all succeed', { timeout: 300_000 }, async t => {
  const directory = join(t.testdir(), 'data')
  const cli = join(import.meta.dirname, '../../src/operator/cli/index.ts')
  const results = await Promise.all(Array.from({ length: 5 }, async (_, i) => {
    const child = spawn(
      process.execPath,
      [...process.execArgv, cli, 'orgs', 'create', '--name', `${i}`, '--plan', 'pro'],
      { env: { ...process.env, CLINIGATE_DATA: directory } }
    )
    let out = ''
    child.stdout.setEncoding('utf8').on('data', text => { out += text })
    child.stderr.setEncoding('utf8').on('data', text => { out += text })
    const [code] = await once(child, 'close')
    return { code, out }
  }))
  for (const { code, out } of results) t.equal(code, 0, out)
  t.same((await createCli(directory)('orgs', 'list')).json.length, 5)
})

// The command responded with which role belongs to which option, and named no option to change.
t.test('a token of the command line reports which option its role lacks or has too many', async t => {
  const create = (...args: string[]) => runCommand({}, 'tokens', 'create', '--name', 'ci', ...args)
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

t.test('a command prints its version and documented times', async t => {
  const captureOutput = async (...args: string[]) => {
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
  t.match(await captureOutput('--version'), { code: 0, text: /^\d+\.\d+\.\d+/ })
  t.match(await captureOutput('keys', 'roll', '--help'), { code: 0, text: /\(default: 1h\)/ })
})
