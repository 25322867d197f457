import t from 'tap'
import { relativizeReferences } from '../../src/tenant-guard/writes/own-references.js'

const base = 'https://gateway.test/v1/fhir'

t.test('a canonical that begins with the address of this gateway becomes relative, alone and in a list', async t => {
  const sent = {
    resourceType: 'CarePlan',
    instantiatesCanonical: [`${base}/PlanDefinition/p1`, 'https://example.org/p2'],
    subject: { reference: `${base}/Patient/1` }
  }
  t.same(relativizeReferences(sent, base), {
    resourceType: 'CarePlan',
    instantiatesCanonical: ['PlanDefinition/p1', 'https://example.org/p2'],
    subject: { reference: 'Patient/1' }
  })
})
