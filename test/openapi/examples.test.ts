import t from 'tap'
import { checkChange, checkCreate, checkRules } from '../../src/mappings/core/validate.js'
import { mappings } from '../../src/mappings/registry.js'
import {
  buildExampleChange, buildExampleResource, exampleContext, buildExample
} from '../../src/api/openapi/example.js'
import { findFaults } from '../laws/definitions.js'

t.test('the examples of the documentation are accepted and become valid FHIR', async t => {
  for (const mapping of mappings) {
    const complete = mapping.withDefaults(buildExample(mapping), exampleContext)
    t.strictSame(checkCreate(mapping, complete), [], mapping.path)
    const resource = buildExampleResource(mapping)
    t.strictSame(checkRules(mapping, resource, { written: Object.keys(complete) }), [], mapping.path)
    t.strictSame(findFaults(resource), [], mapping.path)
  }
})

t.test('the example of a change in the documentation is accepted and leaves valid FHIR', async t => {
  for (const mapping of mappings.filter(({ appendOnly }) => !appendOnly)) {
    const change = buildExampleChange(mapping)
    t.strictSame(checkChange(mapping, change), [], mapping.path)
    t.strictSame(findFaults(mapping.patch(buildExampleResource(mapping), change)), [], mapping.path)
  }
})
