/** Rules of the mapping kit that the laws leave open. */
import t from 'tap'
import { ExactNumber } from '../../src/json/json.js'
import { concept } from '../../src/mappings/datatypes/concept.js'
import { boolean, dateTime, text } from '../../src/mappings/datatypes/primitives.js'
import { quantity, duration } from '../../src/mappings/datatypes/quantities.js'
import { display, reference } from '../../src/mappings/datatypes/reference.js'
import { choice, isBoolean, isText } from '../../src/mappings/fields/choice.js'
import { inMatchingItem } from '../../src/mappings/fields/list-items.js'
import { email } from '../../src/mappings/fields/telecom.js'
import { formats } from '../../src/mappings/core/formats.js'
import { mapping } from '../../src/mappings/core/mapping.js'
import { isOrdered } from '../../src/mappings/core/date-order.js'
import { backbone } from '../../src/mappings/core/structure.js'
import { checkChange, checkCreate, checkRules } from '../../src/mappings/core/validate.js'
import { consents } from '../../src/mappings/resources/consents.js'
import { encounters } from '../../src/mappings/resources/encounters.js'
import { observations } from '../../src/mappings/resources/observations.js'
import { patients } from '../../src/mappings/resources/patients.js'
import { persons } from '../../src/mappings/resources/persons.js'
import { practitioners } from '../../src/mappings/resources/practitioners.js'
import { createContext } from '../harness/create-context.js'

const note = [{ url: 'http://example.org/note', valueString: 'hidden' }]
const loinc = (code: string, more: object = {}) => ({ coding: [{ system: 'http://loinc.org', code, ...more }] })

t.test('an item that cannot be shown stays at its position in the list', async t => {
  const types = concept.list('type')
  const hidden = { extension: note }
  const before = { type: [{ text: 'a' }, hidden, { text: 'b' }] }
  t.strictSame(types.read(before), ['a', 'b'])
  t.strictSame(types.write(before, ['x']), { type: [{ text: 'x' }, hidden] })
  t.strictSame(types.write(before, ['b', 'a', 'c']), { type: [{ text: 'b' }, hidden, { text: 'a' }, { text: 'c' }] })
  t.strictSame(types.write(before, undefined as never), { type: [hidden] })
})

t.test('an item that only moves preserves its hidden parts', async t => {
  const types = concept.list('type')
  const [a, b] = [{ ...loinc('a', { version: '2' }), extension: note }, { ...loinc('b'), id: 'b1' }]
  const shown = types.read({ type: [a, b] })!
  t.strictSame(types.write({ type: [a, b] }, shown.toReversed()), { type: [b, a] })
  t.strictSame(types.write({ type: [a, b] }, [shown[1]!]), { type: [b] })
})

t.test(
  'a revised backbone element preserves its hidden parts, also where all that is shown of it changes in a list of the same length and order',
  async t => {
    const contact = backbone({ role: concept('role'), name: text('name'), phone: text('phone') }).list('contact')
    const mother = { role: { text: 'mother' }, name: 'Ann', phone: '1', gender: 'female', extension: note }
    const father = { role: { text: 'father' }, name: 'Ben', phone: '2', gender: 'male' }
    t.strictSame(
      contact.write({ contact: [mother, father] }, [
        { role: 'mother', name: 'Ann', phone: '9' },
        { role: 'father', name: 'Ben', phone: '2' }
      ]),
      { contact: [{ ...mother, phone: '9' }, father] }
    )
    t.strictSame(contact.write({ contact: [mother] }, [{ role: 'aunt', name: 'Eve', phone: '7' }]), {
      contact: [{ ...mother, role: { text: 'aunt' }, name: 'Eve', phone: '7' }]
    })
    t.strictSame(contact.write({ contact: [mother, father] }, [{ role: 'aunt', name: 'Eve', phone: '7' }]), {
      contact: [{ role: { text: 'aunt' }, name: 'Eve', phone: '7' }]
    })
  }
)

t.test('of several elements that could have been revised it is the one with the most common parts', async t => {
  const participants = backbone({
    id: reference('Practitioner')('actor'),
    role: text('role'),
    since: dateTime('since')
  }).list('participant')
  const [first, second] = ['1', '2'].map(id => ({
    actor: { reference: `Practitioner/${id}` },
    role: 'nurse',
    extension: [{ url: 'http://example.org/of', valueString: id }]
  }))
  const after = participants.write({ participant: [first, second] }, [{ id: '2', role: 'nurse', since: '2026' }])
  t.strictSame(after, { participant: [{ ...second, since: '2026' }] })
})

t.test('a part that a structure is sent without is removed, also where it shows the first of several', async t => {
  const contact = backbone({
    relationship: concept.first('relationship'),
    email: email('telecom'),
    city: text('city')
  }).list('contact')
  const before = {
    contact: [
      {
        relationship: [{ text: 'mother' }, { text: 'guardian' }],
        telecom: [
          { system: 'email', value: 'a@b' },
          { system: 'email', value: 'c@d' },
          { system: 'fax', value: '1' }
        ],
        city: 'Bern'
      }
    ]
  }
  t.strictSame(contact.write(before, [{ city: 'Bern' }]), {
    contact: [{ telecom: [{ system: 'fax', value: '1' }], city: 'Bern' }]
  })
})

t.test('ids and extensions of a list of primitives move with their items', async t => {
  const given = text.list('given')
  const before = { given: ['Ann', null, 'Bea', 'Cleo'], _given: [null, { extension: note }, { id: 'b' }, null] }
  t.strictSame(given.read(before), ['Ann', 'Bea', 'Cleo'])
  t.strictSame(given.write(before, ['Bea', 'Cleo']), {
    given: ['Bea', null, 'Cleo'],
    _given: [{ id: 'b' }, { extension: note }, null]
  })
  t.strictSame(given.write(before, ['Ann', 'Bea', 'Cleo', 'Dora']), {
    given: ['Ann', null, 'Bea', 'Cleo', 'Dora'],
    _given: [null, { extension: note }, { id: 'b' }, null, null]
  })
  t.strictSame(
    given.write({ given: ['Ann', 'Bea'], _given: [null, { id: 'b' }] }, ['Ann']),
    { given: ['Ann'] },
    'a list of nulls alone is left out'
  )
})

t.test('the extension of a single primitive goes with its old value, and its id stays', async t => {
  const status = text('status')
  const before = { status: 'a', _status: { id: 's', extension: note } }
  t.strictSame(status.write(before, 'b'), { status: 'b', _status: { id: 's' } })
  t.equal(status.write(before, 'a'), before)
  t.strictSame(status.write(before, undefined), {})
})

t.test('a value of a choice element replaces every other form', async t => {
  const value = quantity('valueQuantity', { choice: 'value' })
  const before = { valueString: 'a', _valueString: { id: 'v' }, valueSet: 'x', values: 'y', code: 'z' }
  t.strictSame(value.write(before, { value: 1 }), { values: 'y', code: 'z', valueQuantity: { value: 1 } })
  t.equal(value.write(before, undefined), before, 'removing a form that is not there removes no other')
  const inside = boolean('details.deceasedBoolean', { choice: 'deceased' })
  t.strictSame(inside.write({ details: { deceasedDateTime: '2020' } }, true), { details: { deceasedBoolean: true } })
})

t.test('a choice element as one field changes form with its value', async t => {
  const deceased = choice<boolean | string>('deceased', [
    { suffix: 'Boolean', codec: boolean.codec, is: isBoolean },
    { suffix: 'DateTime', codec: dateTime.codec, is: isText }
  ])
  t.strictSame(deceased.write({ deceasedBoolean: true, _deceasedBoolean: { id: 'd' }, active: true }, '2020'), {
    active: true,
    deceasedDateTime: '2020'
  })
  t.strictSame(deceased.write({ deceasedDateTime: '2020' }, undefined), {})
  const other = { deceasedAge: { value: 80 } }
  t.equal(deceased.read(other), undefined)
  t.equal(deceased.write(other, undefined), other, 'a form that is not shown is not removed')
})

t.test('a changed concept, coding or reference drops the text of the old one', async t => {
  const code = concept('code')
  const before = { code: { ...loinc('1', { display: 'One', userSelected: true }), text: 'one', extension: note } }
  t.strictSame(code.write(before, { system: 'http://loinc.org', code: '2' }), { code: loinc('2') })
  t.equal(code.write(before, code.read(before)!), before, 'an unchanged one is not touched')
  const patient = reference('Patient')('subject')
  t.strictSame(
    patient.write({ subject: { reference: 'Patient/1', display: 'Ann', identifier: { value: 'x' } } }, '2'),
    { subject: { reference: 'Patient/2' } }
  )
})

t.test('text and codings of a concept are returned in the form of the contract', async t => {
  const code = concept('code')
  const readCode = (stored: object): unknown => code.read({ code: stored })
  t.equal(readCode({ text: 'a' }), 'a')
  t.strictSame(readCode({ ...loinc('1'), text: 'a' }), { system: 'http://loinc.org', code: '1', text: 'a' })
  t.strictSame(readCode({ coding: [{ code: '1' }, { code: '2' }] }), { code: '1', codings: [{ code: '2' }] })
  t.equal(readCode({ extension: note }), undefined)
  t.strictSame(concept.list('code').read({ code: [{ text: 'a' }] }), ['a'])
  t.strictSame(concept.list('code').read({ code: [{ text: 'a' }, { text: 'b' }] }), ['a', 'b'])
})

t.test('references to records of the store are shown by id, all others are preserved hidden', async t => {
  const author = reference(['Practitioner', 'Organization'])('author')
  const read = (text: unknown): unknown => author.read({ author: { reference: text } })
  t.equal(read('Practitioner/1'), '1')
  t.equal(read('Practitioner/1/_history/2'), '1')
  t.equal(read('Organization/1'), 'Organization/1')
  t.equal(read('Group/1'), 'Group/1', 'one that could not be sent is shown all the same')
  for (const other of [
    '#inside',
    'urn:uuid:1',
    'http://other.example/fhir/Practitioner/1',
    'Practitioner?name=x',
    'Practitioner',
    '',
    7,
    null,
    undefined
  ]) { t.equal(read(other), undefined) }
  t.strictSame(author.write({}, 'Practitioner/1'), { author: { reference: 'Practitioner/1' } })
  t.strictSame(author.write({}, 'Organization/1'), { author: { reference: 'Organization/1' } })
  const versioned = { author: { reference: 'Practitioner/1/_history/2' } }
  t.equal(author.write(versioned, '1'), versioned)
})

t.test('a reference and its name are two fields of one element', async t => {
  const id = reference('Organization', { named: true })('owner')
  const name = display(200)('owner')
  const both = { owner: { reference: 'Organization/1', display: 'Ward' } }
  t.strictSame(id.write(both, undefined), { owner: { display: 'Ward' } })
  t.strictSame(name.write(both, undefined), { owner: { reference: 'Organization/1' } })
  t.strictSame(name.write(both, 'Clinic'), { owner: { reference: 'Organization/1', display: 'Clinic' } })
  t.strictSame(id.write(both, '2'), { owner: { reference: 'Organization/2' } }, 'another owner has another name')
  t.strictSame(name.write({ owner: { display: 'Ward' } }, undefined), {})
})

t.test('an item of a list is removed with the element that the field shows of it', async t => {
  const phone = inMatchingItem(
    'telecom',
    { find: item => item.system === 'phone', create: { system: 'phone' } },
    text('value')
  )
  const fax = { system: 'fax', value: '0' }
  t.strictSame(phone.write({ telecom: [fax, { system: 'phone', value: '1', rank: 1 }] }, '2'), {
    telecom: [fax, { system: 'phone', value: '2', rank: 1 }]
  })
  t.strictSame(phone.write({ telecom: [fax, { system: 'phone', value: '1', rank: 1 }] }, undefined), {
    telecom: [fax]
  })
  t.strictSame(phone.write({ telecom: [{ system: 'phone', value: '1' }] }, undefined), {})
  t.strictSame(phone.write({ telecom: [fax] }, '1'), { telecom: [fax, { system: 'phone', value: '1' }] })
})

t.test('a length in a larger unit is shown in the field’s own; of an unknown unit it is preserved hidden', async t => {
  const minutes = duration.minutes('length')
  const read = (length: object): unknown => minutes.read({ length })
  t.equal(read({ value: 2, code: 'h' }), 120)
  t.equal(read({ value: 90, unit: 'min' }), 90)
  for (const length of [
    { value: 1, code: 'mo' },
    { value: 1, code: 'constructor' },
    { value: 1, code: 'min', comparator: '<' },
    { code: 'min' },
    { value: 1 }
  ]) { t.equal(read(length), undefined) }
  t.equal((read({ value: new ExactNumber('1.50'), code: 'min' }) as ExactNumber).text, '1.50')
})

t.test('the fields of a name show the official one and preserve the others', async t => {
  const old = { use: 'old', family: 'Gordon', given: ['Ada'] }
  const usual = {
    use: 'usual',
    text: 'Ada L.',
    family: 'Lovelace',
    given: ['Ada', 'Augusta', 'King'],
    prefix: ['Lady'],
    period: { start: '1835' }
  }
  const before = { resourceType: 'Patient', name: [old, usual] }
  t.match(patients.toSimple(before), {
    firstName: 'Ada',
    middleName: 'Augusta King',
    lastName: 'Lovelace',
    prefix: 'Lady',
    fullName: 'Ada L.'
  })
  const { text: _, ...rest } = usual
  t.strictSame(patients.patch(before, { lastName: 'Byron' }), {
    resourceType: 'Patient',
    name: [old, { ...rest, family: 'Byron' }]
  })
  t.strictSame(patients.patch(before, { middleName: null }), {
    resourceType: 'Patient',
    name: [old, { ...rest, given: ['Ada'] }]
  })
  t.match(patients.toSimple(patients.patch({ resourceType: 'Patient' }, { lastName: 'Byron', firstName: 'Ada' })), {
    fullName: 'Ada Byron'
  })
})

t.test('a shortcut adds to the whole field in the same body', async t => {
  const participants = [{ practitionerId: '2' }]
  const [one, two] = ['1', '2'].map(id => ({ individual: { reference: `Practitioner/${id}` } }))
  t.strictSame(encounters.toFhir({ participants, practitionerId: '1' }).participant, [one, two])
  t.strictSame(encounters.toFhir({ participants, practitionerId: '2' }).participant, [two])
  t.strictSame(encounters.toFhir({ practitionerId: '1' }).participant, [
    { individual: { reference: 'Practitioner/1' } }
  ])
})

t.test('a default is not filled in where another field of its choice is sent', async t => {
  const events = mapping('Event', {
    path: 'events',
    operation: 'createEvent',
    about: 'For this test.',
    fields: {
      at: dateTime('occurrenceDateTime', { choice: 'occurrence', default: '2026' }),
      words: text('occurrenceString', { choice: 'occurrence' })
    }
  })
  t.strictSame(events.withDefaults({}, createContext), { at: '2026' })
  t.strictSame(events.withDefaults({ words: 'long ago' }, createContext), { words: 'long ago' })
})

t.test('a record is presented with its identity and version', async t => {
  const stored = {
    resourceType: 'Patient',
    id: '7',
    meta: { versionId: '1', lastUpdated: '2026-01-01T00:00:00Z', tag: [] },
    active: true
  }
  t.strictSame(patients.present(stored), {
    id: '7',
    resourceType: 'Patient',
    versionId: '1',
    createdAt: '2026-01-01T00:00:00Z',
    updatedAt: '2026-01-01T00:00:00Z',
    active: true
  })
  t.notOk(
    Object.hasOwn(patients.present({ ...stored, meta: { ...stored.meta, versionId: '2' } }), 'createdAt'),
    'only a first version tells when it was made'
  )
  const extension = [{ url: 'urn:clinigate:created', valueInstant: '2026-01-01T00:00:00Z' }]
  t.match(patients.present({ ...stored, meta: { versionId: '2', extension } }), { createdAt: '2026-01-01T00:00:00Z' })
})

const ada = { firstName: 'Ada', lastName: 'Byron' }
const secret = 'secret-7f3a'

/** Bodies with one mistake each: the field of the issue, and its message. */
const errors: ReadonlyArray<
  readonly [sent: Record<string, unknown>, expression: string, says: RegExp, code?: string]
> = [
  [{ gendr: secret }, 'gendr', /no such field; did you mean gender\?/, 'structure'],
  [{ [`${secret} x`]: 1 }, '(unknown)', /no such field/, 'structure'],
  [{ fullName: secret }, 'fullName', /read-only/, 'business-rule'],
  [{ id: secret }, 'id', /read-only/, 'business-rule'],
  [{ gender: secret }, 'gender', /expected one of male, female, other, unknown/, 'code-invalid'],
  [{ birthDate: '1990-02-30' }, 'birthDate', /expected a date such as/],
  [{ active: 'true' }, 'active', /expected true or false/],
  [{ firstName: ` ${secret}` }, 'firstName', /expected text/],
  [{ firstName: null }, 'firstName', /leave it out/],
  [{ middleName: 'x'.repeat(1001) }, 'middleName', /at most 1000 characters/],
  [{ identifiers: [] }, 'identifiers', /at least one item/],
  [{ identifiers: [{ value: 'a' }, { system: `urn:${secret}` }] }, 'identifiers[1].value', /is required here/, 'required'],
  [{ identifiers: [{ value: 'a', usee: secret }] }, 'identifiers[0].usee', /no such field; did you mean use\?/],
  [{ maritalStatus: ' ' }, 'maritalStatus', /expected text, without leading or trailing spaces or line breaks/],
  [{ identifiers: { value: 7 } }, 'identifiers.value', /expected text/],
  [{ maritalStatus: { system: 'a b', code: 'M' } }, 'maritalStatus.system', /expected an absolute URI/],
  [{ maritalStatus: 7 }, 'maritalStatus', /expected text, or an object/],
  [
    { managingOrganizationId: `Patient/${secret}` },
    'managingOrganizationId',
    /expected the id of an Organization alone/
  ],
  [
    { generalPractitionerId: '..' },
    'generalPractitionerId',
    /expected an id alone or Type\/id, where the type is one of Practitioner/
  ],
  [{ photo: { data: 'aGk=' } }, 'photo.contentType', /is required together with data/],
  [{ photo: { contentType: 'image/png', data: '%%' } }, 'photo.data', /expected base64/],
  [{ link: [{ otherId: '1', type: secret }] }, 'link[0].type', /expected one of replaced-by/, 'code-invalid'],
  [{ contact: [{}] }, 'contact[0]', /expected an object with/],
  [{ deceased: 7 }, 'deceased', /expected true or false; or a time/],
  [{ languages: 'x'.repeat(3) }, 'languages', /expected a list/]
]

t.test('each mistake is named by its field, with what to do and without the value', async t => {
  for (const [sent, expression, message, code = 'invalid'] of errors) {
    const issues = checkCreate(patients, { ...ada, ...sent })
    t.match(issues, [{ severity: 'error', code, diagnostics: message, expression: [expression] }], expression)
    t.equal(issues.length, 1, `${expression}: one issue`)
    t.notMatch(JSON.stringify(issues), secret, `${expression}: the value is not repeated`)
  }
})

t.test('every failing field is named at once', async t => {
  const issues = checkCreate(observations, { effectiveDateTime: 'x', valueBoolean: 'x', colour: 'x' })
  t.strictSame(issues.map(issue => issue.expression?.[0]).sort(), [
    'code',
    'colour',
    'effectiveDateTime',
    'patientId',
    'status',
    'valueBoolean'
  ])
  t.match(issues.find(issue => issue.expression?.[0] === 'code'), { code: 'required', diagnostics: /is required/ })
})

t.test('two forms of one choice are refused, on create and on change', async t => {
  const two = { valueString: 'a', valueBoolean: true }
  for (const issues of [
    checkCreate(observations, { code: 'x', patientId: '1', status: 'final', ...two }),
    checkChange(observations, two)
  ]) {
    t.strictSame(
      issues.map(issue => issue.diagnostics),
      [
        'valueString: send at most one of valueString, valueBoolean',
        'valueBoolean: send at most one of valueString, valueBoolean'
      ]
    )
  }
  t.strictSame(checkChange(observations, { valueString: 'a', valueBoolean: null }), [])
})

t.test('null removes fields that may be absent and no others', async t => {
  t.strictSame(checkChange(patients, { gender: null, active: null }), [])
  t.match(checkChange(observations, { code: null }), [{ code: 'required', expression: ['code'] }])
  t.match(
    checkChange(encounters, { status: null }),
    [{ code: 'required', expression: ['status'] }],
    'a default does not make it removable'
  )
  t.match(checkChange(patients, { fullName: null }), [{ code: 'business-rule', expression: ['fullName'] }])
  t.match(checkChange(patients, { colour: null }), [{ code: 'structure', expression: ['colour'] }])
})

t.test('a value that another system stored may be sent back together with a new one', async t => {
  const shown = { identifiers: [{ system: 'http://example.org' }, { value: 'a' }], patientId: 'Group/1' }
  t.strictSame(checkChange(patients, { identifiers: [...shown.identifiers, { value: 'b' }] }, shown), [])
  t.match(
    checkChange(patients, { identifiers: [...shown.identifiers, { use: 'usual' }] }, shown),
    [{ expression: ['identifiers[2].value'] }],
    'the new item is checked, under its own number'
  )
  t.equal(
    checkChange(patients, { identifiers: [shown.identifiers[0], shown.identifiers[0]] }, shown).length,
    1,
    'once for each that is stored'
  )
  t.strictSame(checkChange(observations, { patientId: 'Group/1' }, shown), [])
  t.equal(checkChange(observations, { patientId: 'Group/2' }, shown).length, 1)
})

t.test('texts have the forms of R4', async t => {
  const forms: Record<keyof typeof formats, { valid: readonly string[]; invalid: readonly string[] }> = {
    text: { valid: ['a', 'a b', 'a\nb', '李'], invalid: ['', ' ', ' a', 'a\n', 'a\u0000b', 'a\u007f'] },
    words: { valid: ['a', 'a b', 'Jean\u00a0Luc'], invalid: ['', 'a  b', 'a\nb', ' a', 'a '] },
    code: { valid: ['a', 'a b', '李'], invalid: ['', 'a  b', 'a\nb', ' a', 'a ', 'a\u00a0b', 'a\u2007b', 'a\u007f'] },
    date: {
      valid: ['1990', '1990-03', '1990-03-14', '2024-02-29'],
      invalid: ['90', '1990-3', '1990-13', '1990-02-30', '2023-02-29', '0000', '1990-03-14T00:00:00Z']
    },
    'fhir-dateTime': {
      valid: ['1990', '2026-03-14T09:30:00Z', '2026-03-14T09:30:00.123456789-14:00'],
      invalid: [
        '2026-03-14T09:30:00',
        '2026-03-14T09:30Z',
        '2026-03-14T24:00:00Z',
        '2026-03-14T09:30:00+15:00',
        '2026-02-29T09:30:00Z',
        '2026-03-14 09:30:00Z'
      ]
    },
    'fhir-instant': {
      valid: ['2026-03-14T09:30:00Z', '2016-12-31T23:59:60Z', '2026-03-14T09:30:00.1234567891+14:00'],
      invalid: ['2026-03-14', '2026-04-31T00:00:00Z', '2026-03-14T09:30:61Z', '2026-03-14T09:30:00+14:30']
    },
    'fhir-time': { valid: ['09:30:00', '23:59:59.9'], invalid: ['9:30:00', '09:30', '24:00:00', '09:30:00Z'] },
    'time-of-day': { valid: ['09:30:00', '09:30', '23:59:59.9'], invalid: ['9:30', '24:00', '09:30Z', '09'] },
    'instant-or-day': {
      valid: ['2026-03-14T09:30:00Z', '2026-03-14'],
      invalid: ['2026-03', '2026-04-31', '2026-03-14T09:30', '2026-03-14T09:30:00']
    },
    uri: { valid: ['http://example.org/a?b#c', 'urn:oid:1.2', 'x-y.z:1'], invalid: ['', '#frag', 'xxx', 'a/b', ':a', 'a:'] },
    'uri-reference': { valid: ['http://example.org/a?b#c', 'urn:oid:1.2'], invalid: ['', 'a b', 'http://<x>', 'a\u0001'] },
    base64: { valid: ['aGVsbG8=', 'AA==', 'AAAA'], invalid: ['A', 'AAA', 'AA=A', 'A A=', '=AAA'] },
    npi: {
      valid: ['1234567893', '1245319599', '1234567890'],
      invalid: ['123456789', '12345678930', 'abcdefghij']
    }
  }
  for (const [format, { valid, invalid }] of Object.entries(forms)) {
    const isOfForm = formats[format as keyof typeof formats]
    for (const text of valid) t.ok(isOfForm(text), `${format} takes ${JSON.stringify(text)}`)
    for (const text of invalid) t.notOk(isOfForm(text), `${format} refuses ${JSON.stringify(text)}`)
  }
})

t.test('a period must not end before it starts, as far as its precision shows', async t => {
  const inOrder = [
    ['2026', '2026'],
    ['2026-03-14', '2026'],
    ['2026', '2026-01-01'],
    ['2025-12-31', '2026'],
    ['2026-03-14T09:00:00Z', '2026-03-14T10:00:00+01:00'],
    ['2026-03-14T23:00:00-14:00', '2026-03-14'],
    ['2026-12-31T23:59:59Z', '2026'],
    ['2026-03-14', '2026-03-14T00:00:00+14:00'],
    ['2026-01', undefined],
    [undefined, '2026'],
    [7, '2026']
  ]
  const reversed = [
    ['2027', '2026'],
    ['2026-03-15', '2026-03-14'],
    ['2026-03', '2026-02-28'],
    ['2026-03-14T09:00:01Z', '2026-03-14T10:00:00+01:00'],
    ['2026-03-17T00:00:00Z', '2026-03-14'],
    ['2027-01-02T00:00:00Z', '2026']
  ]
  for (const [start, end] of inOrder) t.ok(isOrdered(start, end), `${String(start)} to ${String(end)}`)
  for (const [start, end] of reversed) t.notOk(isOrdered(start, end), `${start as string} to ${end as string}`)
  t.match(checkChange(encounters, { period: { start: '2027', end: '2026' } }), [
    { expression: ['period'], diagnostics: /start not after end/ }
  ])
})

t.test('the rules of R4 are checked on the whole resource', async t => {
  const findViolations = (
    of: typeof observations | typeof patients | typeof consents,
    simple: Record<string, unknown>
  ): string[] => checkRules(of as never, of.toFhir(simple)).map(issue => issue.diagnostics)
  t.match(findViolations(patients, { lastName: 'X', contact: [{ relationship: 'mother' }] }), [/^contact: .*\(pat-1\)$/])
  t.strictSame(findViolations(patients, { lastName: 'X', contact: [{ phone: '1' }] }), [])
  t.match(findViolations(observations, { valueString: 'x', dataAbsentReason: 'unknown' }), [/^dataAbsentReason: .*\(obs-6\)$/])
  const code = { system: 'http://loinc.org', code: '1' }
  t.match(findViolations(observations, { code, valueString: 'x', component: [{ code, value: 1 }] }), [
    /^component: .*\(obs-7\)$/
  ])
  t.strictSame(findViolations(observations, { code, component: [{ code, value: 1 }] }), [])
  t.match(findViolations(consents, { patientId: '1' }), [/policyUri.*ppc-1/, /policies.*ppc-1/, /policyRule.*ppc-1/])
  t.strictSame(findViolations(consents, consents.withDefaults({ patientId: '1' }, createContext)), [])
})

t.test('an invariant that was broken before does not prevent another change', async t => {
  const before = {
    resourceType: 'Observation',
    status: 'final',
    code: { text: 'x' },
    valueString: 'x',
    dataAbsentReason: { text: 'unknown' }
  }
  const findViolations = (changes: Record<string, unknown>): string[] =>
    checkRules(observations as never, observations.patch(before, changes), { written: Object.keys(changes), before })
      .map(issue => issue.diagnostics)
  t.strictSame(findViolations({ status: 'amended' }), [])
  t.match(findViolations({ dataAbsentReason: 'error' }), [/obs-6/], 'the field itself must be put right')
  t.strictSame(findViolations({ dataAbsentReason: null }), [])
  const ranges = { ...before, dataAbsentReason: undefined, referenceRange: [{ extension: note }] }
  t.match(checkRules(observations as never, ranges, { written: ['referenceRange'] }).map(issue => issue.diagnostics), [/obs-3/])
})

t.test('a person with one name is accepted, with none rejected', async t => {
  for (const mapping of [patients, practitioners, persons]) {
    for (const name of [{ firstName: 'Mono' }, { lastName: 'Mono' }]) {
      t.strictSame(checkCreate(mapping, name), [], mapping.path)
      const created = mapping.toFhir(name)
      t.strictSame(checkRules(mapping, created), [], mapping.path)
      t.match(mapping.toSimple(created), name, mapping.path)
      const removed = Object.fromEntries(Object.keys(name).map(field => [field, null]))
      t.match(checkRules(mapping, mapping.patch(created, removed), { written: Object.keys(name), before: created }), [
        { expression: ['firstName'], diagnostics: /firstName or lastName is required/ },
        { expression: ['lastName'] }
      ], `${mapping.path}: not removed`)
    }
    t.match(checkRules(mapping, mapping.toFhir({ active: true })), [
      { expression: ['firstName'], diagnostics: /firstName or lastName is required/ },
      { expression: ['lastName'] }
    ], mapping.path)
    const textAlone = { resourceType: mapping.type, name: [{ text: 'Mono' }] }
    const changed = mapping.patch(textAlone, { gender: 'female' })
    t.strictSame(checkRules(mapping, changed, { written: ['gender'], before: textAlone }), [], `${mapping.path}: changed where a text stands`)
  }
})

t.test('a later given name does not become the first name by a removal', async t => {
  for (const mapping of [patients, practitioners, persons]) {
    const before = { resourceType: mapping.type, name: [{ family: 'X', given: ['Eve', 'Marie'] }] }
    const after = mapping.patch(before, { firstName: null })
    t.match(checkRules(mapping, after, { written: ['firstName'], before }), [{ code: 'invariant' }], mapping.path)
  }
})
