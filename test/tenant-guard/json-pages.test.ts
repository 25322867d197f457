/** Pages that are shown from the datastore's own JSON, against the same pages read as records. */
import t from 'tap'
import { presentJson } from '../../src/api/resources/present-json.js'
import { printJson } from '../../src/json/json.js'
import { patients } from '../../src/mappings/resources/patients.js'
import { startFaultyServer } from '../backends/faulty-server.js'
import { failureOf, gatewayTo, system } from './guarded.js'

const search = { kind: 'search', type: 'Patient', parameters: [], route: 'patients' } as const
const own = [{ system, code: 'tenant-a' }]
const foreign = [{ system, code: 'tenant-b' }]

const record = (id: string, tag: unknown = own, more: object = {}) => ({
  resourceType: 'Patient',
  id,
  meta: { versionId: '3', lastUpdated: '2026-03-14T09:30:00Z', tag },
  name: [{ family: 'Byron', given: ['Ada', 'King'] }],
  birthDate: '1815-12-10',
  ...more
})
const pageOf = (resources: readonly unknown[], ...others: readonly unknown[]): string => JSON.stringify({
  resourceType: 'Bundle',
  type: 'searchset',
  total: resources.length,
  link: [{ relation: 'self', url: 'http://datastore.test/Patient?x='.padEnd(500, 'x') }],
  entry: [...resources.map(resource => ({ resource, search: { mode: 'match' } })), ...others]
})

/** What both ways to read a page show of it. */
async function bothOf (body: string) {
  const server = await startFaultyServer()
  const gateway = gatewayTo(`${server.url}/fhir`)
  try {
    const store = gateway.guard('tenant-a')
    server.behave(response => { response.writeHead(200, { 'content-type': 'application/fhir+json' }).end(body) })
    const page = await store.searchJson(search)
    const { resources, ...whole } = await store.search(search)
    const { total, cursor } = page
    const isJson = 'json' in page
    const data = isJson ? presentJson(patients, page).toString() : printJson(page.resources.map(patients.present))
    return {
      isJson,
      shown: `${data} ${total} ${cursor !== undefined}`,
      expected: `${printJson(resources.map(patients.present))} ${whole.total} ${whole.cursor !== undefined}`,
      incidents: gateway.incidents.map(({ records }) => records)
    }
  } finally {
    await Promise.all([server.close(), gateway.backend.close()])
  }
}

const two = [record('1'), record('2', own, { gender: 'female', active: true })]

t.test('a page is shown as its records are, whatever they hold', async t => {
  const note = { resource: { resourceType: 'OperationOutcome' }, search: { mode: 'outcome' } }
  const pages: ReadonlyArray<readonly [string, string, boolean, readonly number[]]> = [
    ['own records', pageOf(two), true, []],
    ['none', pageOf([]), true, []],
    ['records of another tenant', pageOf([record('1'), record('2', foreign), record('3')]), false, [1, 1]],
    ['only of another tenant', pageOf([record('2', foreign)]), false, [1, 1]],
    ['a note of the server', pageOf(two, note), false, []],
    ['an included record', pageOf(two, { resource: record('9'), search: { mode: 'include' } }), false, []],
    ['a number that is kept', pageOf(two).replace('"active":true', '"multipleBirthInteger":1.10'), true, []],
    ['an escaped name', pageOf(two).replace('"gender"', '"g\\u0065nder"'), false, []],
    ['an escaped name of a part', pageOf(two).replace('"given"', '"g\\u0069ven"'), true, []],
    ['an escaped value', pageOf(two).replaceAll('"Byron"', '"B\\u0079r\\/on\\n\\ud83d\\ude00"'), true, []],
    ['a member named twice', pageOf(two).replaceAll('"birthDate":', '"birthDate":null,"birthDate":"1900","birthDate":'), true, []],
    ['a part named twice', pageOf(two).replaceAll('"family":', '"family":"Lovelace","family":'), true, []],
    ['an id named twice', pageOf(two).replace('"id":"2"', '"id":"9","id":"2"'), false, []],
    ['a tag named twice', pageOf(two).replace('"tag":[', '"tag":[],"tag":['), false, []],
    ['a resource named twice', pageOf(two).replace('"resource":', '"resource":{},"resource":'), false, []],
    ['a short page', JSON.stringify({ resourceType: 'Bundle', type: 'searchset', total: 1, entry: [{ resource: { ...record('1'), multipleBirthInteger: 1 } }] }), true, []],
    ['a page that nests deep', pageOf([record('1', own, { extension: JSON.parse('['.repeat(120) + ']'.repeat(120)) })]), true, []]
  ]
  for (const [name, body, isJson, incidents] of pages) {
    const found = await bothOf(body)
    t.equal(found.shown, found.expected, name)
    t.same([found.isJson, found.incidents], [isJson, incidents], name)
  }
})

t.test('a page that is no JSON is refused', async t => {
  t.match(await failureOf(bothOf(pageOf(two).slice(0, -1))), { code: 'BACKEND_ERROR' })
})
