import t from 'tap'
import { collectReferences } from '../../src/tenant-guard/writes/references.js'

// A uri without a slash lost its last letter before it was looked up among the types of records: Lists became List.
t.test('a uri that is a type and one letter more leads to no record', async t => {
  for (const system of ['Lists', 'Patients', 'Tasks', 'Groups|1', 'List', 'Patient#1', 'Lists?x=1']) {
    t.strictSame(collectReferences({ resourceType: 'Patient', identifier: [{ system, value: '1' }] }, []), [], system)
  }
  t.match(
    collectReferences(
      { resourceType: 'Observation', instantiatesCanonical: 'PlanDefinition/1', implicitRules: 'List/1' },
      []
    )
      .map(({ record }) => record)
      .sort(),
    ['List/1', 'PlanDefinition/1']
  )
})
