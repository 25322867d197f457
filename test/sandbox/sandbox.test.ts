import Database from 'better-sqlite3'
import { join } from 'node:path'
import t from 'tap'
import { startSandbox } from '../../src/sandbox/sandbox.js'
import { startTestSandbox } from '../harness/sandbox.js'
import { interactionContract } from './interaction-contract.js'
import { searchContract } from './search-contract.js'
import { bundle, entry, requireRejected, Server } from './server.js'

const sandbox = await startTestSandbox(t)
const server = new Server(sandbox.url)
const { url } = sandbox

await t.test('the sandbox fulfils the contract of interactions', t => interactionContract(t, url, { isSandbox: true }))
await t.test('the sandbox fulfils the contract of searches', t => searchContract(t, url))

t.test('a delete on another version than the newest deletes nothing', async t => {
  const path = `/Patient/${server.id('kept')}`
  const stored = { resourceType: 'Patient', id: server.id('kept') }
  await server.send('PUT', path, stored)
  for (const stale of ['W/"2"', '1']) {
    requireRejected(t, await server.send('DELETE', path, undefined, { 'if-match': stale }), 412, stale)
  }
  t.equal((await server.send('DELETE', path, undefined, { 'if-match': 'W/"1"' })).status, 200)
  requireRejected(
    t,
    await server.send('PUT', path, stored, { 'if-match': 'W/"2"' }),
    412,
    'a deleted resource has no version to update'
  )
})

t.test('the sandbox rejects everything that it does not support', async t => {
  requireRejected(t, await server.send('POST', '/Patient/_search', '{}'), 415, 'a search that is no form')
  requireRejected(
    t,
    await server.send('POST', '/Patient', 'a=b', { 'content-type': 'application/x-www-form-urlencoded' }),
    415,
    'a form that is no search'
  )
  requireRejected(
    t,
    await server.send('POST', '/Patient', '<Patient/>', { 'content-type': 'application/fhir+xml' }),
    415,
    'XML'
  )
  requireRejected(t, await server.send('POST', '/Patient', `"${'x'.repeat(17 * 1024 * 1024)}"`), 413, 'more than 16 MiB')
  requireRejected(t, await server.send('POST', '/Patient/1', {}), 405, 'a method')
  requireRejected(t, await server.send('GET', '/Patient/1/$everything'), 400, 'an operation')
  requireRejected(t, await server.send('GET', '?_id=1'), 404, 'a search of all types')
  for (const meta of ['x', { tag: 'x' }, { tag: [null] }]) {
    requireRejected(t, await server.send('POST', '/Patient', { resourceType: 'Patient', meta }), 400, 'a meta that is none')
  }
  requireRejected(
    t,
    await server.send('POST', '/Patient', { resourceType: 'Patient' }, { 'if-none-exist': '_sort=name' }),
    400,
    'a condition that selects nothing'
  )
  requireRejected(
    t,
    await server.send('POST', '', bundle('transaction', entry('constructor', 'Patient'))),
    405,
    'a method of a Bundle that is none'
  )
  requireRejected(t, await server.send('POST', '', bundle('transaction', {})), 400, 'an entry without request')
  requireRejected(
    t,
    await server.send('POST', '', bundle('transaction', entry('POST', '', bundle('batch')))),
    404,
    'a Bundle in a Bundle'
  )
  requireRejected(t, await server.send('GET', '/Patient/%E0%A4'), 400, 'a broken encoding')
  requireRejected(
    t,
    await server.send('POST', '', bundle('transaction', entry('GET', 'Patient/%E0%A4'))),
    400,
    'a broken encoding in a Bundle'
  )
  const elsewhere = await fetch(url.replace('/fhir', '/other'))
  t.equal(elsewhere.status, 404)
})

t.test('no error response repeats what was sent', async t => {
  for (const response of [
    await server.send('GET', '/Patient?secret=1'),
    await server.send('GET', '/secret/1'),
    await server.send('GET', '/secret/%E0%A4'),
    await server.send('POST', '/Patient', '{"secret'),
    await server.send('POST', '/Patient', '{}', { 'content-type': 'text/secret' })
  ]) {
    t.ok(response.status >= 400)
    t.notMatch(response.text, 'secret')
  }
})

t.test('resources survive a restart, in a file of the same version only', async t => {
  const file = join(t.testdir(), 'sandbox.db')
  const first = await startSandbox({ file, now: () => new Date() })
  await new Server(first.url).send('PUT', '/Patient/p', { resourceType: 'Patient', id: 'p', gender: 'male' })
  await first.close()
  const second = await startSandbox({ file, now: () => new Date() })
  t.equal((await new Server(second.url).send('GET', '/Patient?gender=male')).resource.total, 1)
  await second.close()
  const db = new Database(file)
  db.pragma('user_version = 99')
  db.close()
  await t.rejects(startSandbox({ file, now: () => new Date() }), /version 99/)
})

t.test('two sandboxes run at once and share nothing; times and ids are the given ones', async t => {
  const now = () => new Date('2026-01-02T03:04:05.678Z')
  const other = await startSandbox({ file: ':memory:', now, newId: () => 'given' })
  t.teardown(() => other.close())
  const made = await new Server(other.url).send('POST', '/Patient', { resourceType: 'Patient' })
  t.match(made.resource, { id: 'given', meta: { lastUpdated: '2026-01-02T03:04:05.678Z' } })
  requireRejected(t, await server.send('GET', '/Patient/given'), 404, 'the other one')
  await t.rejects(startSandbox({ file: ':memory:', now, port: Number(new URL(other.url).port) }), {
    code: 'EADDRINUSE'
  })
})

t.test('the sandbox rejects requests that HAPI accepts or ignores', async t => {
  for (const query of [
    'Patient?name=',
    'Patient?name=a,',
    'Patient?name=%CC%81',
    'Patient?name:contains=%CC%81',
    'Patient?_foo=1',
    'Patient?name:foo=1',
    'Patient?name:constructor=1',
    'Patient?gender:exact=male',
    'Patient?gender:missing=x',
    'Patient?identifier=a|b|c',
    'Patient?identifier=|',
    'Patient?_include=*',
    'Patient?_include=Patient:name',
    'Patient?_include=Patient:organization:Nope',
    'Patient?_total=x',
    'Patient?_summary=nonsense',
    'Patient?_format=xml',
    'Patient?_offset=-1',
    'Patient?_has:Observation:patient:code=1',
    'Observation?subject:Patient.name=anna',
    'Observation?subject.name=anna',
    'Observation?subject:Patient=Group/1',
    'Observation?subject:Nope=1',
    'Location?near=1|2',
    'Observation?code-value-quantity=1-8$5.4',
    'Observation?value-quantity=1|2|3|4',
    `Patient?name=${'x,'.repeat(500)}x`
  ]) { t.equal((await server.search(query, '')).status, 400, query.slice(0, 80)) }
})

t.test('the sandbox offers more than a HAPI with default settings', async t => {
  await server.store({
    resourceType: 'Patient',
    id: server.id('a'),
    name: [{ given: ['Anna Maria'] }],
    birthDate: '1980-02-03'
  })
  await server.store({
    resourceType: 'Observation',
    id: server.id('o'),
    subject: { reference: `Patient/${server.id('a')}` }
  })
  t.same(server.listNames(await server.search('Patient?given:contains=A MAR')), ['a'], 'a part of a string')
  t.same(server.listNames(await server.search('Patient?birthdate=1980-02-03,1981')), ['a'], 'several times')
  t.same(server.listNames(await server.search(`Observation?subject=${url}/Patient/~a`)), ['o'], 'its own base URL')
  t.same(
    server.listNames(await server.search(`Patient?_id=${Array.from({ length: 2000 }, (_, i) => i).join()},~a`)),
    ['a'],
    'any number of ids'
  )
  t.equal((await server.search(`Patient?name=${'x,'.repeat(499)}x`)).status, 200, '500 strings')
})

t.test('every R4 type can be stored, and searched by each of its parameters', async t => {
  const { resource: { rest: [{ resource: types }] } } = await server.send('GET', '/metadata')
  for (const { type, searchParam } of types) {
    await server.store({ resourceType: type, id: server.id('bare') })
    // Patient.deceased is false where it is missing.
    const own = searchParam.filter(({ name }: any) => !name.startsWith('_') && name !== 'deceased')
    const response = await server.search(
      `${type}?_id=~bare&${own.map(({ name }: any) => `${name}:missing=true`).join('&')}`
    )
    t.same(server.listNames(response), ['bare'], type)
  }
})
