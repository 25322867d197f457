import t from 'tap'
import { buildCapabilityStatements } from '../../src/http/capability-statement.js'
import { identityFields } from '../../src/mappings/core/mapping.js'
import { mappings } from '../../src/mappings/registry.js'
import { incompleteLists, listReferrers } from '../../src/mappings/relations.js'
import { parseInclude, buildRelations } from '../../src/api/resources/include.js'
import { offersAll } from '../../src/tenant-guard/capabilities.js'

t.test('no list of an include has the name of a field', async t => {
  for (const mapping of mappings) {
    const fields = new Set([...identityFields, ...Object.keys(mapping.fields)])
    const lists = [incompleteLists, ...listReferrers(mapping, mappings).map(({ mapping: { path } }) => path)]
    t.strictSame(lists.filter(name => fields.has(name)), [], mapping.path)
  }
})

t.test(
  'a group is included by the search parameter that is about the record, and by another one only where there is none',
  async t => {
    const patients = mappings.find(({ path }) => path === 'patients')!
    const relations = buildRelations(patients, mappings)
    for (const path of [
      'encounters',
      'observations',
      'appointments',
      'medication-statements',
      'care-plans',
      'allergies',
      'conditions'
    ]) {
      t.strictSame(
        relations.get(path)?.includes.map(({ direction, parameter }) => [direction, parameter]),
        [['revinclude', 'patient']],
        path
      )
    }
    t.notOk(relations.has('patients'), 'a link between patients is no filter')
    t.notOk(relations.has('medications'), 'no medication refers to a patient')
    const roles = buildRelations(
      mappings.find(({ path }) => path === 'practitioner-roles')!,
      mappings
    )
    t.strictSame(
      roles.get('observations')?.includes.map(({ parameter }) => parameter),
      ['performer']
    )
  }
)

t.test('all groups that refer to a record can be included at once', async t => {
  for (const mapping of mappings) {
    const includes = [...buildRelations(mapping, mappings).values()].flatMap(({ includes }) => includes)
    t.ok(includes.length <= 60, `${mapping.path}: ${includes.length}`)
  }
})

t.test('every include of the capability statement is accepted', async t => {
  const {
    rest: [{ resource }]
  } = buildCapabilityStatements(mappings, { version: '1', url: 'http://x', date: new Date(0), fetchesImports: false, hasEvents: false }).full(
    offersAll
  ) as { rest: [{ resource: Array<{ type: string; searchInclude?: string[]; searchRevInclude?: string[] }> }] }
  for (const [at, { type, searchInclude = [], searchRevInclude = [] }] of resource.entries()) {
    const requested = [
      ...searchInclude.map(value => `_include=${value}`),
      ...searchRevInclude.map(value => `_revinclude=${value}`)
    ]
    for (const query of requested) {
      t.match(
        parseInclude(mappings[at]!, { getRelations: () => new Map(), isGroup: () => false }, query),
        { form: 'fhir', includes: [{ type: String }] },
        `${type}?${query}`
      )
    }
  }
  t.match(
    resource.find(({ type }) => type === 'Patient'),
    { searchInclude: ['Patient:general-practitioner'], searchRevInclude: ['Encounter:patient'] }
  )
})
