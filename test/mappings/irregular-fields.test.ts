/**
 * Fields whose simple form is not the FHIR element itself: what a client reads, and what is preserved of the stored
 * resource.
 */
import t from 'tap'
import { isNarrative } from '../../src/mappings/fields/narrative.js'
import type { FhirElement } from '../../src/mappings/fhir.js'
import { checkCreate } from '../../src/mappings/core/validate.js'
import { appointments } from '../../src/mappings/resources/appointments.js'
import { assessments } from '../../src/mappings/resources/assessments.js'
import { careTeams } from '../../src/mappings/resources/care-teams.js'
import { documents } from '../../src/mappings/resources/documents.js'
import { intakes } from '../../src/mappings/resources/intakes.js'
import { conditions } from '../../src/mappings/resources/conditions.js'
import { labs } from '../../src/mappings/resources/labs.js'
import { notes } from '../../src/mappings/resources/notes.js'
import { practitionerRoles } from '../../src/mappings/resources/practitioner-roles.js'
import { prescriptions } from '../../src/mappings/resources/prescriptions.js'
import { createContext } from '../harness/create-context.js'

const toBase64 = (text: string): string => Buffer.from(text).toString('base64')
const getAttachment = (note: FhirElement): unknown => (note.content as Array<{ attachment: unknown }>)[0]!.attachment

t.test('the dosage of a prescription is part of its first instruction, together with the text', async t => {
  const instruction = { text: '1 in the morning', additionalInstruction: [{ text: 'with water' }] }
  const other = { text: 'then 1 a week' }
  const stored = { resourceType: 'MedicationRequest', dosageInstruction: [instruction, other] }
  const dosage = { dose: { value: 500, unit: 'mg' }, frequency: 1, period: 1, periodUnit: 'd', asNeeded: false }
  const changed = prescriptions.patch(stored, { dosage })
  t.same(changed.dosageInstruction, [{
    ...instruction,
    doseAndRate: [{ doseQuantity: { value: 500, unit: 'mg' } }],
    timing: { repeat: { frequency: 1, period: 1, periodUnit: 'd' } },
    asNeededBoolean: false
  }, other])
  t.same(prescriptions.toSimple(changed).dosage, dosage)
  t.equal(prescriptions.toSimple(changed).dosageText, '1 in the morning')
  t.same(prescriptions.patch(changed, { dosage: null }), stored)
})

t.test('a medicine for a reason is taken as needed, and the reason is preserved while it is', async t => {
  const stored = {
    resourceType: 'MedicationRequest',
    dosageInstruction: [{ asNeededCodeableConcept: { text: 'pain' } }]
  }
  t.same(prescriptions.toSimple(stored).dosage, { asNeeded: true })
  t.same(prescriptions.patch(stored, { dosage: { asNeeded: true, route: 'oral' } }).dosageInstruction, [
    { asNeededCodeableConcept: { text: 'pain' }, route: { text: 'oral' } }
  ])
  t.same(prescriptions.patch(stored, { dosage: { asNeeded: false } }).dosageInstruction, [{ asNeededBoolean: false }])
})

t.test('a substitution without a decision leaves no empty element', async t => {
  const stored = {
    resourceType: 'MedicationRequest',
    substitution: { allowedBoolean: true, reason: { text: 'price' } }
  }
  t.same(prescriptions.patch(stored, { substitutionAllowed: false }).substitution, {
    allowedBoolean: false,
    reason: { text: 'price' }
  })
  t.same(prescriptions.patch(stored, { substitutionAllowed: null }), { resourceType: 'MedicationRequest' })
})

t.test('the text of a note is stored and read unchanged', async t => {
  for (const text of ['fine', '  indented\r\n\tand more\n', 'Ünïcode 李 🙂', '\uFEFFmarked']) {
    const note = notes.toFhir(notes.withDefaults({ patientId: '1', title: 'Visit', content: text }, createContext))
    t.same(getAttachment(note), { contentType: 'text/plain', data: toBase64(text), title: 'Visit' })
    t.equal(notes.toSimple(note).content, text)
  }
})

t.test('data that is no text, or not for display, is an Attachment', async t => {
  for (const attachment of [
    { contentType: 'application/pdf', data: toBase64('%PDF-1.4') },
    { contentType: 'application/x-unknown', data: '/w==' },
    { contentType: 'text/plain', url: 'https://example.org/long.txt', title: 'Long' }
  ]) {
    const note = notes.toFhir({ content: attachment, title: 'Visit' })
    t.same(getAttachment(note), attachment)
    t.same(notes.toSimple(note).content, attachment)
    t.equal(notes.toSimple(note).contentType, attachment.contentType)
  }
  t.equal(
    notes.toSimple(notes.toFhir({ content: { contentType: 'text/html', data: toBase64('<p>fine</p>') } })).content,
    '<p>fine</p>'
  )
})

t.test('a text that replaces a scan is plain text, and a text of another type preserves its type', async t => {
  const scan = notes.toFhir({
    content: { contentType: 'application/pdf', url: 'https://example.org/a.pdf', title: 'Scan' },
    title: 'Visit'
  })
  t.same(getAttachment(notes.patch(scan, { content: 'fine' })), { contentType: 'text/plain', data: toBase64('fine') })
  const page = notes.toFhir({ content: '<p>old</p>', contentType: 'text/html', title: 'Visit' })
  t.same(getAttachment(notes.patch(page, { content: '<p>new</p>' })), {
    contentType: 'text/html',
    data: toBase64('<p>new</p>'),
    title: 'Visit'
  })
})

t.test('another text that another system stored as the title stays when the description changes', async t => {
  const attachment = { contentType: 'text/plain', data: toBase64('fine'), title: 'Nurse note' }
  const stored = { resourceType: 'DocumentReference', description: 'Evening shift', content: [{ attachment }] }
  t.equal(notes.toSimple(stored).title, 'Evening shift')
  const changed = notes.patch(stored, { title: 'Night shift' })
  t.equal(changed.description, 'Night shift')
  t.same(getAttachment(changed), attachment)
  t.same(notes.patch(changed, { title: 'Evening shift' }), stored)
})

t.test('a title that is stored with the text alone is read, and not lost with the text', async t => {
  const stored = {
    resourceType: 'DocumentReference',
    content: [
      { attachment: { contentType: 'text/plain', data: toBase64('fine'), title: 'Visit' }, format: { code: 'x' } }
    ]
  }
  t.equal(notes.toSimple(stored).title, 'Visit')
  const changed = notes.patch(stored, { content: { contentType: 'application/pdf', url: 'https://example.org/a.pdf' } })
  t.equal(notes.toSimple(changed).title, 'Visit')
  t.same((changed.content as unknown as FhirElement[])[0]!.format, { code: 'x' })
})

t.test('the text of a section is plain, or XHTML that only formats', async t => {
  const sections = [{ title: 'History', text: 'a < b & c\nsecond line', sections: [{ text: '<div><p>old</p></div>' }] }]
  const document = documents.toFhir({ sections })
  const [section] = document.section as FhirElement[]
  t.same(section!.text, {
    status: 'additional',
    div: '<div xmlns="http://www.w3.org/1999/xhtml">a &lt; b &amp; c<br/>second line</div>'
  })
  t.same(documents.toSimple(document).sections, [
    { title: 'History', text: 'a < b & c\nsecond line', sections: [{ text: 'old' }] }
  ])
  const table = '<div xmlns="http://www.w3.org/1999/xhtml"><table><tr><td colspan="2">5 &#181;g</td></tr></table></div>'
  t.same(documents.toSimple(documents.toFhir({ sections: [{ text: table }] })).sections, [{ text: table }])
})

t.test('XHTML with active content, or malformed, is no narrative', async t => {
  for (const inside of [
    '<p>a</p>',
    'a<br/>b',
    '<!-- seen --><b>c</b>',
    '<img src="a.png" alt="x"/>',
    '<a href="https://example.org/?a=1&amp;b=2">d</a>',
    '<p style="color: red">e</p>',
    '&#8364;'
  ]) {
    t.ok(isNarrative(`<div>${inside}</div>`), inside)
  }
  for (const inside of [
    '',
    ' ',
    '<p>a',
    'a</p>',
    '<p>a</b>',
    '<br>',
    'a & b',
    'a &nbsp; b',
    '<script>x</script>',
    '<iframe src="x">a</iframe>',
    '<P>a</P>',
    '<p onclick="x">a</p>',
    '<p class="a" class="b">a</p>',
    '<p class=a>b</p>',
    '<a href="javascript:x">a</a>',
    '<a href="java&#115;cript:x">a</a>',
    '<a href=" javascript:x">a</a>',
    '<img src="data:text/html,x"/>',
    '<p style="background: url(//a)">b</p>',
    '<![CDATA[a]]>',
    '<?a?>b',
    '<!-- a -- b -->c',
    '</div>a<div>'
  ]) { t.notOk(isNarrative(`<div>${inside}</div>`), inside) }
  for (const text of ['a', '<p>a</p>', '<div>a</div>b', 'a<div>b</div>', '<div>a</div><div>b</div>', '<div/>']) {
    t.notOk(isNarrative(text), text)
  }
})

t.test('a finding is its code, its text or both', async t => {
  const code = { system: 'http://snomed.info/sct', code: '38341003', display: 'Hypertension' }
  const writeFinding = (finding: object): unknown =>
    (assessments.toFhir({ findings: [finding] }).finding as FhirElement[])[0]!.itemCodeableConcept
  t.same(writeFinding({ code, text: 'still high' }), { coding: [code], text: 'still high' })
  const toTextCoding = (code: string) => ({ system: 'urn:clinigate:text', code })
  t.same(writeFinding({ text: 'still high' }), { text: 'still high', coding: [toTextCoding('still high')] })
  t.same(writeFinding({ code: 'high' }), { coding: [{ code: 'high' }] })
  t.same(writeFinding({ code: 'high', text: 'still high' }), { coding: [{ code: 'high' }], text: 'still high' })
  t.same(writeFinding({ code: 'very  high' }), { coding: [{ display: 'very  high' }, toTextCoding('very high')] })
  for (const findings of [
    [{ code, text: 'still high', basis: '160/100' }],
    [{ code, text: 'Hypertension' }],
    [{ code: { code: 'high' } }],
    [{ code: { display: 'very  high' }, text: 'high' }],
    [{ text: 'still high', conditionId: '1' }]
  ]) {
    t.same(assessments.toSimple(assessments.toFhir({ findings })).findings, findings)
  }
})

t.test('a bare answer is stored by its type', async t => {
  const intake = { patientId: '1', items: [{ linkId: '1', answer: ['yes', true, 3, 2.5, { valueDate: '2026-03' }] }] }
  t.same(checkCreate(intakes, intakes.withDefaults(intake, createContext)), [])
  t.same(intakes.toSimple(intakes.toFhir(intake)).items, [
    {
      linkId: '1',
      answer: [
        { valueString: 'yes' },
        { valueBoolean: true },
        { valueInteger: 3 },
        { valueDecimal: 2.5 },
        { valueDate: '2026-03' }
      ]
    }
  ])
  for (const [answer, faults] of [[{}, 1], [{ valueString: 'a', valueInteger: 1 }, 2], [{ value: 'a' }, 2]] as const) {
    t.equal(
      checkCreate(
        intakes,
        intakes.withDefaults({ patientId: '1', items: [{ linkId: '1', answer: [answer] }] }, createContext)
      ).length,
      faults
    )
  }
})

t.test('a questionnaire is named by its URL, or by its id', async t => {
  for (const questionnaire of ['intake', 'https://example.org/Questionnaire/intake|2']) {
    t.equal(intakes.toSimple(intakes.toFhir({ questionnaire })).questionnaire, questionnaire)
  }
  t.equal(intakes.toFhir({ questionnaire: 'intake' }).questionnaire, 'Questionnaire/intake')
})

t.test('participants of an appointment have accepted unless their status is sent', async t => {
  const appointment = appointments.toFhir({ patientId: '1', practitionerId: '2', locationId: '3' })
  t.same(
    appointments.toSimple(appointment).participants,
    ['Patient/1', 'Practitioner/2', 'Location/3'].map(actorId => ({ actorId, status: 'accepted' }))
  )
  const participants = [
    { actorId: 'Patient/1', status: 'tentative', required: 'required' },
    { actorId: 'Practitioner/2' }
  ]
  const simpleAppointment = appointments.toSimple(appointments.toFhir({ participants, patientId: '9' }))
  t.equal(simpleAppointment.patientId, '9', 'who is not in the list comes too')
  t.same(simpleAppointment.participants, [
    { actorId: 'Patient/9', status: 'accepted' },
    participants[0],
    { ...participants[1], status: 'accepted' }
  ])
})

t.test('members of a care team are shown with their type', async t => {
  const participant = [{ memberId: 'Practitioner/1', role: 'lead' }, { memberId: 'Patient/1' }]
  t.same(careTeams.toSimple(careTeams.toFhir({ participant })).participant, participant)
})

t.test('a name is stored with the id or alone', async t => {
  t.same(labs.toFhir({ performerId: '1', performer: 'Central Lab' }).performer, [
    { reference: 'Practitioner/1', display: 'Central Lab' }
  ])
  t.same(labs.toFhir({ performer: 'Central Lab' }).performer, [{ display: 'Central Lab' }])
  const stored = {
    resourceType: 'PractitionerRole',
    location: [{ reference: 'Location/1', display: 'East' }, { reference: 'Location/2' }]
  }
  t.same(practitionerRoles.patch(stored, { locationName: null }).location, [
    { reference: 'Location/1' },
    { reference: 'Location/2' }
  ])
})

t.test('known texts map to their codes', async t => {
  const system = 'http://terminology.hl7.org/CodeSystem/v2-0074'
  const laboratory = { system, code: 'LAB', display: 'Laboratory', text: 'Laboratory' }
  t.same(labs.toSimple(labs.toFhir(labs.withDefaults({}, createContext))).category, [laboratory])
  t.same(notes.toSimple(notes.toFhir({ type: 'discharge-summary' })).type, {
    system: 'http://loinc.org',
    code: '18842-5',
    display: 'Discharge summary',
    text: 'Discharge summary'
  })
})

t.test('a code shows its display as text where none is stored, and none is stored by sending it back', async t => {
  const coding = { system: 'http://snomed.info/sct', code: '38341003', display: 'Hypertension' }
  const shown = { ...coding, text: 'Hypertension' }
  const stored = { resourceType: 'Condition', code: { id: 'a', coding: [coding] } }
  t.same(conditions.toSimple(stored).code, shown)
  t.equal(conditions.patch(stored, { code: shown }), stored)
  t.same(conditions.patch(stored, { code: { ...shown, codings: [{ system: 'http://x', code: 'h' }] } }).code, {
    id: 'a',
    coding: [coding, { system: 'http://x', code: 'h' }]
  })
  t.same(conditions.patch(stored, { code: { ...shown, text: 'high' } }).code, { ...stored.code, text: 'high' })
  t.same(conditions.toSimple(conditions.toFhir({ code: { ...coding, text: 'high' } })).code, { ...coding, text: 'high' })
})
