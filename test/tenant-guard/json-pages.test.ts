/** Pages that are shown from the datastore's own JSON, against the same pages read as records. */
import t from 'tap'
import { presentJson } from '../../src/api/resources/present-json.js'
import { printJson } from '../../src/json/json.js'
import { patients } from '../../src/mappings/resources/patients.js'
import { startFaultyServer } from '../backends/faulty-server.js'
import { catchFailure, createGateway, system } from './guarded.js'

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
const buildPage = (resources: readonly unknown[], ...others: readonly unknown[]): string => JSON.stringify({
  resourceType: 'Bundle',
  type: 'searchset',
  total: resources.length,
  link: [{ relation: 'self', url: 'http://datastore.test/Patient?x='.padEnd(500, 'x') }],
  entry: [...resources.map(resource => ({ resource, search: { mode: 'match' } })), ...others]
})

/** The page as both ways to read it show it. */
async function readBothWays (body: string) {
  const server = await startFaultyServer()
  const gateway = createGateway(`${server.url}/fhir`)
  try {
    const store = gateway.guard('tenant-a')
    server.behave(response => { response.writeHead(200, { 'content-type': 'application/fhir+json' }).end(body) })
    const page = await store.searchJson(search)
    const { resources, ...rest } = await store.search(search)
    const { total, cursor } = page
    const isJson = 'json' in page
    const data = isJson ? presentJson(patients, page).toString() : printJson(page.resources.map(patients.present))
    return {
      isJson,
      shown: `${data} ${total} ${cursor !== undefined}`,
      expected: `${printJson(resources.map(patients.present))} ${rest.total} ${rest.cursor !== undefined}`,
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
    ['own records', buildPage(two), true, []],
    ['none', buildPage([]), true, []],
    ['records of another tenant', buildPage([record('1'), record('2', foreign), record('3')]), false, [1, 1]],
    ['only of another tenant', buildPage([record('2', foreign)]), false, [1, 1]],
    ['a note of the server', buildPage(two, note), false, []],
    ['an included record', buildPage(two, { resource: record('9'), search: { mode: 'include' } }), false, []],
    ['a number that is kept', buildPage(two).replace('"active":true', '"multipleBirthInteger":1.10'), true, []],
    ['an escaped name', buildPage(two).replace('"gender"', '"g\\u0065nder"'), false, []],
    ['an escaped name of a part', buildPage(two).replace('"given"', '"g\\u0069ven"'), true, []],
    ['an escaped value', buildPage(two).replaceAll('"Byron"', '"B\\u0079r\\/on\\n\\ud83d\\ude00"'), true, []],
    ['a member named twice', buildPage(two).replaceAll('"birthDate":', '"birthDate":null,"birthDate":"1900","birthDate":'), true, []],
    ['a part named twice', buildPage(two).replaceAll('"family":', '"family":"Lovelace","family":'), true, []],
    ['an id named twice', buildPage(two).replace('"id":"2"', '"id":"9","id":"2"'), false, []],
    ['a tag named twice', buildPage(two).replace('"tag":[', '"tag":[],"tag":['), false, []],
    ['a resource named twice', buildPage(two).replace('"resource":', '"resource":{},"resource":'), false, []],
    ['a short page', JSON.stringify({ resourceType: 'Bundle', type: 'searchset', total: 1, entry: [{ resource: { ...record('1'), multipleBirthInteger: 1 } }] }), true, []],
    ['a page that nests deep', buildPage([record('1', own, { extension: JSON.parse('['.repeat(120) + ']'.repeat(120)) })]), true, []]
  ]
  for (const [name, body, isJson, incidents] of pages) {
    const found = await readBothWays(body)
    t.equal(found.shown, found.expected, name)
    t.same([found.isJson, found.incidents], [isJson, incidents], name)
  }
})

t.test('a page that is no JSON is refused', async t => {
  t.match(await catchFailure(readBothWays(buildPage(two).slice(0, -1))), { code: 'BACKEND_ERROR' })
})
