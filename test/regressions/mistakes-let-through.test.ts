/** Bodies that were once taken and then gave invalid R4, or an internal error; found by the laws. */
import t from 'tap'
import { checkChange, checkCreate, checkRules } from '../../src/mappings/core/validate.js'
import { consents } from '../../src/mappings/resources/consents.js'
import { observations } from '../../src/mappings/resources/observations.js'
import { patients } from '../../src/mappings/resources/patients.js'
import { mappings } from '../../src/mappings/registry.js'

t.test('names of the language’s own objects are unknown fields', async t => {
  for (const mapping of mappings) {
    for (const name of ['constructor', 'toString', 'hasOwnProperty', 'valueOf']) {
      const named = checkCreate(mapping, { [name]: 1 }).filter(issue => issue.expression?.[0] === name)
      t.match(
        [...named, ...checkChange(mapping, { [name]: 1 }), ...checkChange(mapping, { [name]: null })],
        [{ code: 'structure' }, { code: 'structure' }, { code: 'structure' }],
        `${mapping.path} ${name}`
      )
    }
  }
})

t.test('a code with a line break or two spaces is no code of R4', async t => {
  for (const code of ['two\nlines', 'two  spaces']) {
    t.match(checkChange(observations, { method: { code } }), [{ expression: ['method.code'] }])
    t.match(checkChange(observations, { valueQuantity: { value: 1, system: 'http://unitsofmeasure.org', code } }), [
      { expression: ['valueQuantity.code'] }
    ])
    t.match(checkChange(patients, { photo: { contentType: code, url: 'http://example.org' } }), [
      { expression: ['photo.contentType'] }
    ])
  }
})

t.test('a value set beside a reason for its absence breaks obs-6, whichever field was written', async t => {
  const before = {
    resourceType: 'Observation',
    status: 'final',
    code: { text: 'x' },
    dataAbsentReason: { text: 'unknown' }
  }
  const changes = { valueString: 'now known' }
  t.match(checkRules(observations as never, observations.patch(before, changes), Object.keys(changes), before), [
    { diagnostics: /obs-6/ }
  ])
})

t.test('a status with a default cannot be removed where R4 needs it', async t => {
  t.match(checkChange(observations, { status: null }), [{ code: 'required' }])
})

t.test('a policy without authority is policyUri and not one of policies', async t => {
  t.match(checkChange(consents, { policies: [{ uri: 'http://example.org' }] }), [
    { expression: ['policies[0].authority'] }
  ])
})
