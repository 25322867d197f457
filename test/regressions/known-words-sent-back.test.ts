import t from 'tap'
import { observations } from '../../src/mappings/resources/observations.js'

// Words that stand for a coding, stored as mere text by another system, became the coding when the list was sent back.
t.test('a list is sent back as it was shown without changing the record', async t => {
  const stored = { resourceType: 'Observation', category: [{ text: 'laboratory' }, { text: 'mine' }] }
  t.equal(observations.patch(stored, observations.toSimple(stored)), stored)
})
