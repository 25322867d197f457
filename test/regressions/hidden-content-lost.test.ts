/** Changes that once lost FHIR content which the simple form does not show; found by the laws. */
import t from 'tap'
import { concept } from '../../src/mappings/datatypes/concept.js'
import { decimal, text } from '../../src/mappings/datatypes/primitives.js'
import { reference } from '../../src/mappings/datatypes/reference.js'
import { lostPaths } from '../../src/mappings/core/losses.js'
import { backbone } from '../../src/mappings/core/structure.js'
import { patients } from '../../src/mappings/resources/patients.js'

const hidden = [{ url: 'http://example.org/hidden', valueBoolean: true }]

t.test('removing the first of two references that look alike removes the first', async t => {
  const basedOn = reference('ServiceRequest').first('basedOn')
  const [first, second] = [
    { reference: 'ServiceRequest/1', display: 'a' },
    { reference: 'ServiceRequest/1', display: 'b' }
  ]
  t.strictSame(basedOn.write({ basedOn: [first, second] }, undefined), { basedOn: [second] })
})

t.test('removing the first item leaves the order of those that cannot be shown', async t => {
  const type = concept.first('type')
  t.strictSame(type.write({ type: [{ text: 'a' }, { extension: hidden }, { text: 'b' }] }, undefined), {
    type: [{ extension: hidden }, { text: 'b' }]
  })
})

// An extension of a primitive tells of its value (decision 001); the response to the change names what went.
t.test('a changed first item loses its own extensions, and the others keep theirs', async t => {
  const given = text.first('given')
  t.strictSame(given.write({ given: ['Ann', 'Bea'], _given: [{ extension: hidden }, { extension: hidden }] }, 'Amy'), {
    given: ['Amy', 'Bea'],
    _given: [null, { extension: hidden }]
  })
  const before = { resourceType: 'Patient', name: [{ given: ['Ann'], _given: [{ extension: hidden }] }] }
  t.strictSame(lostPaths(patients, before, patients.patch(before, { firstName: 'Amy' })), ['name.given.extension'])
})

t.test('extensions of primitives that have no values at all stay when a value comes', async t => {
  const before = { _given: [{ extension: hidden }] }
  t.strictSame(text.first('given').write(before, 'Ann'), {
    given: [null, 'Ann'],
    _given: [{ extension: hidden }, null]
  })
  t.strictSame(text.list('given').write(before, ['Ann']), {
    given: [null, 'Ann'],
    _given: [{ extension: hidden }, null]
  })
})

t.test('a structure is not left without the parts that it needs', async t => {
  const position = backbone({
    longitude: decimal('longitude', { required: true }),
    latitude: decimal('latitude', { required: true })
  })('position')
  t.strictSame(position.write({ position: { longitude: 1, latitude: 2, extension: hidden } }, undefined), {})
  const batch = backbone({ lotNumber: text('lotNumber') })('batch')
  t.strictSame(
    batch.write({ batch: { lotNumber: '1', extension: hidden } }, undefined),
    { batch: { extension: hidden } },
    'one that needs none keeps what it hides'
  )
})

t.test('the old text of a contact’s name does not survive a new family name', async t => {
  const before = {
    resourceType: 'Patient',
    contact: [{ name: { text: 'Ann Old', family: 'Old', given: ['Ann'] }, gender: 'female' }]
  }
  t.strictSame(patients.patch(before, { contact: [{ firstName: 'Ann', lastName: 'New' }] }).contact, [
    { name: { family: 'New', given: ['Ann'] }, gender: 'female' }
  ])
})
