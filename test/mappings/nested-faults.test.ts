import t from 'tap'
import { checkCreate } from '../../src/mappings/core/validate.js'
import { mappings } from '../../src/mappings/registry.js'

/** The faults of a body, by the path of a resource. */
const listFaults = (path: string, body: Record<string, unknown>): string[] =>
  checkCreate(mappings.find(mapping => mapping.path === path)!, body).map(({ diagnostics }) => diagnostics)

const listPatientFaults = (fields: Record<string, unknown>): string[] =>
  listFaults('patients', { firstName: 'Ada', lastName: 'Byron', ...fields })
const listPaths = (found: readonly string[]): string[] => found.map(text => text.split(':')[0]!).sort()

t.test('every failing part of a nested field is named, not only the first', async t => {
  const fields = {
    contact: [{ phone: 5, foo: 'x' }, { firstName: 7 }],
    languages: [{ language: '' }, { preferred: 'x' }]
  }
  t.strictSame(listPaths(listPatientFaults(fields)), [
    'contact[0].foo',
    'contact[0].phone',
    'contact[1].firstName',
    'languages[0].language',
    'languages[1].language',
    'languages[1].preferred'
  ])
  t.strictSame(
    listPaths(
      listFaults('observations', { status: 'final', patientId: 'p', code: { code: 'a  b', system: 'x y', display: 5 } })
    ),
    ['code.code', 'code.display', 'code.system']
  )
})

t.test('a value of no form of a choice gets all its forms named', async t => {
  for (const deceased of ['yes', 7]) t.match(listPatientFaults({ deceased }), [/^deceased: expected true or false; or a time/])
})

t.test('a field of too many parts has its first fault named', async t => {
  t.strictSame(listPatientFaults({ contact: Array.from({ length: 5_000 }, () => ({ phone: 5 })) }).length, 1)
})

t.test('valid R4 is accepted: no-break spaces in a name, leap seconds, base64 in lines', async t => {
  t.strictSame(listPatientFaults({ firstName: 'Jean\u00a0Luc', deceased: '2016-12-31T23:59:60Z' }), [])
  t.strictSame(listPatientFaults({ deceased: '2016-12-31T23:59:59.1234567891+14:00' }), [])
})
