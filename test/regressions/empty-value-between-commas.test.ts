import t from 'tap'
import { patients } from '../../src/mappings/resources/patients.js'
import { readSearch } from '../../src/api/resources/query.js'

// The datastore got the empty value, and refused it or not.
t.test('a comma with nothing before or after it is refused', async t => {
  for (const query of ['gender=male,', 'gender=,male', 'gender=male,%20,female', 'gender=,', 'id=1,', 'name:text=']) {
    t.throws(() => readSearch(patients, query), { code: 'BAD_REQUEST' }, query)
  }
  for (const query of ['identifier=a%5C,', 'name=Byron,', 'gender=male,female']) {
    t.doesNotThrow(() => readSearch(patients, query), query)
  }
})
