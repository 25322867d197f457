import t from 'tap'
import { patients } from '../../src/mappings/resources/patients.js'
import { readSearch } from '../../src/api/resources/query.js'

// The look-up of a filter found what every object inherits, and the datastore was asked for a parameter named
// undefined.
t.test('a filter named like a member that every object has is unknown', async t => {
  for (const name of ['constructor', 'toString', 'hasOwnProperty', 'valueOf', '__proto__', '__defineGetter__']) {
    t.throws(() => readSearch(patients, `${name}=1`), { code: 'UNKNOWN_FILTER' }, name)
    t.throws(() => readSearch(patients, `${name}:text=1`), { code: 'UNKNOWN_FILTER' }, name)
    t.throws(() => readSearch(patients, `sort=${name}`), { code: 'BAD_REQUEST' }, name)
  }
})
