import t from 'tap'
import { checkChange, checkCreate, checkRules } from '../../src/mappings/core/validate.js'
import { mappings } from '../../src/mappings/registry.js'
import { exampleChange, exampleFhir, exampleContext, exampleOf } from '../../src/api/openapi/example.js'
import { faultsOf } from '../laws/definitions.js'

t.test('what the documentation says to send is accepted and becomes valid FHIR', async t => {
  for (const mapping of mappings) {
    const complete = mapping.withDefaults(exampleOf(mapping), exampleContext)
    t.strictSame(checkCreate(mapping, complete), [], mapping.path)
    const resource = exampleFhir(mapping)
    t.strictSame(checkRules(mapping, resource, { written: Object.keys(complete) }), [], mapping.path)
    t.strictSame(faultsOf(resource), [], mapping.path)
  }
})

t.test('a change as the documentation shows it is accepted and leaves valid FHIR', async t => {
  for (const mapping of mappings.filter(({ appendOnly }) => !appendOnly)) {
    const change = exampleChange(mapping)
    t.strictSame(checkChange(mapping, change), [], mapping.path)
    t.strictSame(faultsOf(mapping.patch(exampleFhir(mapping), change)), [], mapping.path)
  }
})
