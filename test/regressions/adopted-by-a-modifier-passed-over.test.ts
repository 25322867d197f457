import t from 'tap'
import { readCriteria } from '../../src/operator/ownership-scan/adopt-criteria.js'

// HAPI passes over a modifier that a parameter does not have: `birthdate:not=1970-01-01` adopted the one patient born
// on that day.
t.test('records are adopted by no modifier that their search parameter does not have', async t => {
  for (const search of [
    'Patient?birthdate:not=1970-01-01',
    'Patient?family:not=x',
    'Patient?gender:exact=male',
    'Patient?name:sounds=x',
    'Patient?family:missing=1',
    'Patient?active:missing:not=true',
    'Observation?subject:Patient.name:not=x',
    'Patient?_has:Observation:subject:code:not=x',
    'Patient?_tag:not=x'
  ]) {
    t.throws(() => readCriteria(search), { message: /modifier/ }, search)
  }
  for (const search of [
    'Patient?gender:not=male',
    'Patient?family:exact=x',
    'Patient?family:missing=true',
    'Observation?subject:Patient=1',
    'Observation?subject:Patient.name=x',
    'Observation?code:text=x',
    'Patient?_has:Observation:subject:code=x'
  ]) {
    t.doesNotThrow(() => readCriteria(search), search)
  }
})
