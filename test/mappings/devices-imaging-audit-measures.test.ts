/**
 * Devices, imaging, audit, measures, recommendations: their invariants and the fields that differ from the FHIR
 * element.
 */
import t from 'tap'
import { checkRules } from '../../src/mappings/core/validate.js'
import { auditEvents } from '../../src/mappings/resources/audit-events.js'
import { deviceRequests } from '../../src/mappings/resources/device-requests.js'
import { devices } from '../../src/mappings/resources/devices.js'
import { imagingStudies } from '../../src/mappings/resources/imaging-studies.js'
import { immunizationRecommendations } from '../../src/mappings/resources/immunization-recommendations.js'
import { measureReports } from '../../src/mappings/resources/measure-reports.js'
import { media } from '../../src/mappings/resources/media.js'
import { medicationKnowledge } from '../../src/mappings/resources/medication-knowledge.js'
import { specimens } from '../../src/mappings/resources/specimens.js'
import { listRefusedFields } from './refused-fields.js'
import { createContext } from '../harness/create-context.js'

const event = { type: 'rest', agent: [{ requestor: true }] }
const report = { type: 'summary', measureId: 'http://example.org/m', period: { start: '2026-01', end: '2026-03' } }
const stratum = (parts: object) => ({ group: [{ stratifier: [{ stratum: [parts] }] }] })

t.test('sev-1: an entity of an audit event has a name or a query, not both', async t => {
  t.same(listRefusedFields(auditEvents, { ...event, entity: [{ name: 'chart', query: 'YWJj' }] }), ['entity'])
  t.same(listRefusedFields(auditEvents, { ...event, entity: [{ name: 'chart' }, { query: 'YWJj' }] }), [])
})

t.test('mrp-1: a report that only collects data has no counts', async t => {
  t.same(listRefusedFields(measureReports, { ...report, type: 'data-collection', group: [{ code: 'all' }] }), [
    'group',
    'type'
  ])
  t.same(listRefusedFields(measureReports, { ...report, group: [{ code: 'all' }] }), [])
})

t.test('mrp-2: a stratum is one value or several components', async t => {
  const component = [{ code: 'sex', value: 'female' }]
  t.same(listRefusedFields(measureReports, { ...report, ...stratum({ measureScore: { value: 1 } }) }), ['group'])
  t.same(listRefusedFields(measureReports, { ...report, ...stratum({ value: 'female', component }) }), ['group'])
  t.same(listRefusedFields(measureReports, { ...report, ...stratum({ component }) }), [])
})

t.test('the period of a measure report has a start and an end', async t => {
  t.same(listRefusedFields(measureReports, { ...report, period: { start: '2026' } }), ['period.end'])
})

t.test('imr-1: a recommendation is for a vaccine or against a disease', async t => {
  const recommendation = (parts: object) => ({ patientId: '1', recommendation: [{ forecastStatus: 'due', ...parts }] })
  t.same(listRefusedFields(immunizationRecommendations, recommendation({})), ['recommendation'])
  t.same(listRefusedFields(immunizationRecommendations, recommendation({ vaccineCode: 'MMR' })), [])
  t.same(listRefusedFields(immunizationRecommendations, recommendation({ targetDisease: 'measles' })), [])
})

t.test('a request for a device has either its kind or its reference', async t => {
  const stored = deviceRequests.toFhir(deviceRequests.withDefaults({ deviceId: '7', patientId: '1' }, createContext))
  const without = deviceRequests.patch(stored, { deviceId: null })
  t.same(
    checkRules(deviceRequests, without, { written: ['deviceId'], before: stored }).flatMap(issue => issue.expression),
    ['code', 'deviceId']
  )
  const instead = deviceRequests.patch(stored, { code: 'walker' })
  t.same(checkRules(deviceRequests, instead, { written: ['code'], before: stored }), [])
  t.same(deviceRequests.toSimple(instead).deviceId, undefined)
})

t.test('the type of a detail of a device request follows from its form', async t => {
  const parameter = [
    { value: true },
    { value: { value: 3, unit: 'cm' } },
    { value: { low: { value: 1 } } },
    { value: 'large' },
    { value: { system: 'http://x', code: 'L' } }
  ]
  const stored = deviceRequests.toFhir({ patientId: '1', code: 'walker', parameter })
  t.same(
    (stored.parameter as object[]).map(item => Object.keys(item)[0]),
    ['valueBoolean', 'valueQuantity', 'valueRange', 'valueCodeableConcept', 'valueCodeableConcept']
  )
  t.same(deviceRequests.toSimple(stored).parameter, parameter)
})

t.test('an ingredient is a code or a substance, and exactly one of them', async t => {
  const knowledge = (ingredient: object) => ({ code: 'aspirin', ingredient: [ingredient] })
  t.same(listRefusedFields(medicationKnowledge, knowledge({ isActive: true })).length, 1)
  t.same(listRefusedFields(medicationKnowledge, knowledge({ item: 'starch', substanceId: '1' })).length, 2)
  t.same(listRefusedFields(medicationKnowledge, knowledge({ substanceId: '1' })), [])
})

t.test('the content of media has a type', async t => {
  t.same(listRefusedFields(media, { content: { data: 'YWJj' } }), ['content.contentType'])
})

t.test('the time of collection can be combined with the rest of the collection', async t => {
  const collectedPeriod = { start: '2026-03-14T08:00:00Z', end: '2026-03-14T08:05:00Z' }
  const stored = specimens.toFhir({ patientId: '1', collectedPeriod, collection: { method: 'swab' } })
  t.same(stored.collection, { method: { text: 'swab' }, collectedPeriod })
  t.same(specimens.patch(stored, { collection: { collectedDateTime: '2026-03-14' } }).collection, {
    collectedDateTime: '2026-03-14'
  })
  t.same(
    listRefusedFields(specimens, { patientId: '1', collection: { collectedDateTime: '2026', collectedPeriod } }).length,
    2
  )
})

t.test('a device shows the name for its users, else its first, and preserves the others', async t => {
  const [made, known] = [{ name: 'XR-7', type: 'model-name' }, { name: 'Pump', type: 'user-friendly-name' }]
  const buildDevice = (deviceName: object[]) => ({ resourceType: 'Device', deviceName })
  t.equal(devices.toSimple(buildDevice([made, known])).deviceName, 'Pump')
  t.same(devices.patch(buildDevice([made, known]), { deviceName: 'Drip' }), buildDevice([made, { ...known, name: 'Drip' }]))
  t.equal(devices.toSimple(buildDevice([made])).deviceName, 'XR-7')
  t.same(devices.patch(buildDevice([made]), { deviceName: 'XR-8' }), buildDevice([{ ...made, name: 'XR-8' }]))
  t.same(devices.toFhir({ deviceName: 'Pump' }), buildDevice([known]))
})

t.test('the UID of a study is no identifier among others', async t => {
  const study = {
    resourceType: 'ImagingStudy',
    identifier: [
      { system: 'http://x', value: 'A1' },
      { system: 'urn:dicom:uid', value: 'urn:oid:1.2.840.1' }
    ]
  }
  t.same(imagingStudies.toSimple(study), { studyUid: '1.2.840.1', identifiers: [{ system: 'http://x', value: 'A1' }] })
  t.same(imagingStudies.patch(study, { studyUid: '1.2.840.2', identifiers: null }).identifier, [
    { system: 'urn:dicom:uid', value: 'urn:oid:1.2.840.2' }
  ])
  t.equal(
    imagingStudies.toSimple({ identifier: [{ system: 'urn:dicom:uid', value: '1.2.3' }] }).studyUid,
    '1.2.3',
    'as other systems wrongly store it'
  )
  for (const uid of ['1.02.3', '1', '1.2.', `1.${'2'.repeat(63)}`, 'urn:oid:1.2']) {
    t.same(listRefusedFields(imagingStudies, { patientId: '1', studyUid: uid }), ['studyUid'], uid)
  }
})

t.test('a Coding is a text, or a code that the text maps to', async t => {
  const study = imagingStudies.toFhir({
    patientId: '1',
    modality: ['CT', 'a camera', { system: 'http://x', code: 'y' }]
  })
  t.same(study.modality, [
    { system: 'http://dicom.nema.org/resources/ontology/DCM', code: 'CT', display: 'Computed Tomography' },
    { display: 'a camera' },
    { system: 'http://x', code: 'y' }
  ])
  t.same(imagingStudies.toSimple(study).modality, [
    { system: 'http://dicom.nema.org/resources/ontology/DCM', code: 'CT', display: 'Computed Tomography' },
    'a camera',
    { system: 'http://x', code: 'y' }
  ])
})

t.test('an agent of an audit event is a record, or only a name', async t => {
  const whos = ['Practitioner/1', 'the night shift', 'Radiology/North', 'Substance/1']
  const stored = auditEvents.toFhir({ ...event, agent: whos.map(who => ({ who, requestor: false })) })
  t.same(
    (stored.agent as Array<{ who: object }>).map(agent => agent.who),
    [{ reference: 'Practitioner/1' }, ...whos.slice(1).map(display => ({ display }))]
  )
  t.same(auditEvents.toSimple(stored).agent?.map(agent => agent.who), whos)
})
