import t from 'tap'
import type { StoredResource } from '../../src/mappings/fhir.js'
import { hasElement, listMandatoryElements, isMemberOfElement } from '../../src/mappings/r4/elements.js'
import { compartments } from '../../src/mappings/r4/compartments.js'
import {
  createCompartmentFilter, isInPatientCompartment, combineSearches, buildSearches
} from '../../src/tenant-guard/export/searches.js'
import { mergeSorted } from '../../src/tenant-guard/export/search-chunks.js'
import type { ScanChunk } from '../../src/tenant-guard/reads/scan.js'
import { isTenantType, resourceTypes } from '../../src/fhir/resource-types.js'

t.test('filters that differ in one value are one search; others stay apart', async t => {
  const combine = (...searches: Array<Array<[string, string]>>) => combineSearches('Observation', searches)
  t.strictSame(combine([['status', 'final']], [['status', 'amended']]), [[['status', 'final,amended']]])
  t.strictSame(
    combine([['status', 'final']], [['status', 'final']], [['status', 'amended']]),
    [[['status', 'final,amended']]],
    'the same one twice is one'
  )
  t.strictSame(
    combine(
      [
        ['status', 'final'],
        ['code', 'a']
      ],
      [
        ['status', 'final'],
        ['code', 'b']
      ]
    ),
    [
      [
        ['status', 'final'],
        ['code', 'a,b']
      ]
    ]
  )
  for (const searches of [
    [[['status', 'final']], [['code', 'a']]],
    [
      [
        ['status', 'final'],
        ['code', 'a']
      ],
      [
        ['status', 'amended'],
        ['code', 'b']
      ]
    ],
    [[['status:not', 'final']], [['status:not', 'amended']]],
    [[['date', 'ge2020']], [['date', 'lt2010']]],
    [[['code:missing', 'true']], [['code:missing', 'false']]],
    [
      [['status', 'final']],
      [
        ['status', 'final'],
        ['code', 'a']
      ]
    ],
    [[['nothing', '1']], [['nothing', '2']]]
  ] as Array<Array<Array<[string, string]>>>) { t.strictSame(combine(...searches), searches) }
})

t.test(
  'the members of a small group are conditions of each search; those of a large one are looked for in each record',
  async t => {
    const request = { level: 'group', types: [], groupId: 'g' } as const
    const [patients, observations] = buildSearches(request, ['Patient', 'Observation', 'Organization'], { members: ['a', 'b'] })
    t.strictSame(patients!.searches, [[['_id', 'a,b']], [['link', 'Patient/a,Patient/b']]])
    t.strictSame(observations!.searches, [[['subject', 'Patient/a,Patient/b']], [['performer', 'Patient/a,Patient/b']]])
    const large = buildSearches(
      request,
      ['Observation'],
      { members: Array.from({ length: 51 }, (_, at) => `p${at}`) }
    )
    t.strictSame(large[0]!.searches, [[]])
    t.strictSame(
      ['p3', 'p51'].map(id => large[0]!.isSelected!({ subject: { reference: `Patient/${id}` } })),
      [true, false]
    )
    t.strictSame(buildSearches(request, ['Patient'], { members: [] }), [], 'a group without members has no records')
  }
)

t.test("whether a record is in a patient's compartment is decided by the elements that R4 names", async t => {
  const cases: Array<[string, object, boolean]> = [
    ['Observation', { subject: { reference: 'Patient/a' } }, true],
    ['Observation', { subject: { reference: 'Patient/a/_history/2' } }, true],
    ['Observation', { performer: [{ reference: 'Practitioner/a' }, { reference: 'Patient/a' }] }, true],
    ['Observation', { subject: { reference: 'Patient/b' } }, false],
    ['Observation', { subject: { reference: 'Group/a' } }, false],
    ['Observation', { focus: [{ reference: 'Patient/a' }] }, false],
    ['Observation', { subject: { identifier: { value: 'Patient/a' } } }, false],
    ['Patient', { id: 'a' }, true],
    ['Patient', { id: 'b', link: [{ other: { reference: 'Patient/a' } }] }, true],
    ['Patient', { id: 'b' }, false],
    [
      'AuditEvent',
      { agent: [{ who: { reference: 'Device/a' } }], entity: [{ what: { reference: 'Patient/a' } }] },
      true
    ],
    ['RequestGroup', { action: [{ participant: [{ reference: 'Patient/a' }] }] }, true],
    ['Person', { link: [null, { target: { reference: 'Patient/a' } }] }, true],
    ['Group', { member: [{ entity: { reference: 'Patient/a' } }] }, true],
    ['Observation', { subject: 'Patient/a', performer: 3 }, false]
  ]
  for (const [type, record, isIn] of cases) {
    t.equal(createCompartmentFilter(type, new Set(['a']))(record as {}), isIn, `${type} ${JSON.stringify(record)}`)
  }
  t.ok(createCompartmentFilter('Observation')({ subject: { reference: 'Patient/anybody' } }))
  t.ok(compartments.includes('Patient'))
  // Of each of those types some element must lead to a patient, or no record of it would ever be exported.
  for (const type of [...resourceTypes].filter(type => isTenantType(type) && isInPatientCompartment(type))) {
    t.ok(isReachedByPaths(type), type)
  }
})

/** Whether a record that refers to a patient by every path that R4 names is in the compartment. */
function isReachedByPaths (type: string): boolean {
  const everywhere: unknown = new Proxy(
    {},
    { get: (_, name) => (name === 'reference' ? 'Patient/a' : name === 'id' ? 'b' : everywhere) }
  )
  return createCompartmentFilter(type, new Set(['a']))(everywhere as {})
}

const record = (id: string, at: number): StoredResource => ({
  resourceType: 'Patient',
  id,
  meta: { lastUpdated: new Date(at).toISOString() }
})

async function * walkOver (...records: StoredResource[]): AsyncGenerator<ScanChunk> {
  for (const one of records) yield { records: [one], upTo: one.meta.lastUpdated }
}

t.test('several scans of the same records are merged in the order of time, with each record once', async t => {
  const met: string[] = []
  const times: string[] = []
  for await (const { records, upTo } of mergeSorted([
    walkOver(record('a', 1), record('b', 2), record('c', 2), record('e', 9)),
    walkOver(record('b', 2), record('d', 3)),
    walkOver(),
    walkOver(record('c', 2), record('b', 2), record('e', 9))
  ])) {
    met.push(...records.map(({ id }) => id))
    times.push(upTo!)
  }
  t.strictSame(met, ['a', 'b', 'c', 'd', 'e'])
  t.strictSame(times, times.toSorted())
})

t.test(
  'an element is matched by its name, a choice by each of its names, and the part of a primitive by that of the whole',
  async t => {
    t.strictSame(listMandatoryElements('Observation'), ['status', 'code'])
    t.strictSame(listMandatoryElements('Nothing'), [])
    for (const [element, member, is] of [
      ['status', 'status', true],
      ['birthDate', '_birthDate', true],
      ['value[x]', 'valueQuantity', true],
      ['value[x]', 'value', false],
      ['value[x]', 'values', false],
      ['status', 'statusReason', false]
    ] as const) { t.equal(isMemberOfElement(element, member), is, `${element} ${member}`) }
    for (const [type, name, has] of [
      ['Observation', 'value', true],
      ['Observation', 'valueQuantity', true],
      ['Patient', 'birthDate', true],
      ['Patient', 'id', true],
      ['Patient', 'nothing', false],
      ['constructor', 'id', false]
    ] as const) { t.equal(hasElement(type, name), has, `${type}.${name}`) }
  }
)
