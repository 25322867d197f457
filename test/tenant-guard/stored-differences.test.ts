import t from 'tap'
import { parseStored } from '../../src/json/json.js'
import type { FhirResource } from '../../src/mappings/fhir.js'
import { findStoredDifferences } from '../../src/tenant-guard/writes/stored-differences.js'

/** The differences between two texts of JSON. */
const findDifferences = (sent: string, stored: string): readonly string[] =>
  findStoredDifferences(parseStored(sent) as FhirResource, parseStored(stored) as FhirResource)

const patient = (elements: string): string => `{"resourceType":"Patient",${elements}}`

t.test('what the datastore dropped, changed or added is named by its path, without values', async t => {
  const lost: Array<[string, string, string]> = [
    [
      '"name":[{"family":"F","_given":[{"extension":[{"url":"http://e.org/x","valueString":"v"}]}]}]',
      '"name":[{"family":"F"}]',
      'Patient.name[0]._given[0]'
    ],
    ['"name":[{"given":["A","B"]}]', '"name":[{"given":["A"]}]', 'Patient.name[0].given[1]'],
    [
      '"name":[{"given":["A"],"_given":[{"id":"a"}]}]',
      '"name":[{"given":["A"],"_given":[null,{"id":"a"}]}]',
      'Patient.name[0]._given[0]'
    ],
    ['"birthDate":"1970-01-01"', '"birthDate":"1970-01-02"', 'Patient.birthDate'],
    ['"birthDate":"1970-01-01"', '"gender":"male","birthDate":"1970-01-01"', 'Patient.gender'],
    ['"contained":[{"resourceType":"Organization","id":"o","name":"x"}]', '"active":true', 'Patient.contained[0]'],
    ['"active":true', '"active":"true"', 'Patient.active'],
    ['"name":[{"text":"a b"}]', '"name":[{"text":"ab"}]', 'Patient.name[0].text'],
    [
      '"extension":[{"url":"u","valueDecimal":1.10}]',
      '"extension":[{"url":"u","valueDecimal":1.1}]',
      'Patient.extension[0].valueDecimal'
    ],
    ['"photo":[{"data":"AAAA"}]', '"photo":[{"data":"AAAB"}]', 'Patient.photo[0].data'],
    [
      '"text":{"status":"generated","div":"<div>a</div>"}',
      '"text":{"status":"generated","div":"<div>b</div>"}',
      'Patient.text.div'
    ],
    ['"meta":{"profile":["http://e.org/p"]}', '"active":true', 'Patient.meta.profile'],
    ['"meta":{"tag":[{"system":"a","code":"b"}]}', '"meta":{"tag":[{"system":"c","code":"b"}]}', 'Patient.meta.tag']
  ]
  for (const [sent, stored, path] of lost) t.ok(findDifferences(patient(sent), patient(stored)).includes(path), path)
})

t.test('what the server decides itself, and another notation of the same, is no difference', async t => {
  const same: Array<[string, string]> = [
    [
      '"id":"mine","active":true',
      '"id":"7","active":true,"meta":{"versionId":"1","lastUpdated":"2026-01-01T00:00:00Z","source":"#x","tag":[{"system":"a","code":"b"}]}'
    ],
    [
      '"meta":{"tag":[{"system":"a","code":"b"},{"system":"c","code":"d"}]},"active":true',
      '"meta":{"tag":[{"system":"c","code":"d"},{"system":"a","code":"b"}]},"active":true'
    ],
    ['"photo":[{"data":"AA\\nAA\\r\\n"}]', '"photo":[{"data":"AAAA"}]'],
    ['"extension":[{"url":"u","valueDecimal":1e2}]', '"extension":[{"url":"u","valueDecimal":100}]'],
    ['"extension":[{"url":"u","valueDecimal":12.0e-1}]', '"extension":[{"url":"u","valueDecimal":1.20}]'],
    ['"name":[{"given":["A"],"_given":[null]}]', '"name":[{"given":["A"]}]'],
    [
      '"text":{"status":"generated","div":"<div>\\n <br></br> it\'s &#160;x &lt;</div>"}',
      '"text":{"status":"generated","div":"<div> <br/> it\'s &nbsp;x &lt;</div>"}'
    ]
  ]
  for (const [sent, stored] of same) t.strictSame(findDifferences(patient(sent), patient(stored)), [], sent)
  const bundle = (entry: string): string =>
    `{"resourceType":"Bundle","type":"collection","entry":[{${entry}"resource":{"resourceType":"Binary","contentType":"text/plain","data":"AA AA"}}]}`
  t.strictSame(findDifferences(bundle(''), bundle('"fullUrl":"urn:uuid:1",')), [])
  const named = bundle('"fullUrl":"http://e.org/fhir/Binary/7",')
  t.strictSame(findDifferences(named, named.replace('"contentType"', '"id":"7","contentType"')), [
    'Bundle.entry[0].resource.id'
  ])
  t.strictSame(
    findDifferences(bundle(''), bundle('').replace('AA AA', 'AAAA')),
    [],
    'the type of an inner record is known'
  )
})

t.test('a reference with the URL of the datastore, and the record in place of a placeholder, is no difference', async t => {
  const placeholder = 'urn:uuid:5c6c2c2e-6a2c-4b57-a5a5-9a1b4f0f7f11'
  const sent = { resourceType: 'Observation', subject: { reference: placeholder }, focus: [{ reference: 'Device/2' }] }
  const findReferenceDifferences = (subject: string, focus: string): readonly string[] =>
    findStoredDifferences(
      sent as FhirResource,
      { ...sent, subject: { reference: subject }, focus: [{ reference: focus }] } as FhirResource,
      { baseUrl: 'http://hapi/fhir', placeholders: new Map([[placeholder, 'Patient/1']]) }
    )
  t.strictSame(findReferenceDifferences('Patient/1', 'Device/2'), [])
  t.strictSame(findReferenceDifferences('http://hapi/fhir/Patient/1', 'http://hapi/fhir/Device/2'), [])
  t.strictSame(findReferenceDifferences('Patient/2', 'http://other/fhir/Device/2'), [
    'Observation.subject.reference',
    'Observation.focus[0].reference'
  ])
})

t.test('a narrative of a million spaces within a tag is compared in one pass', async t => {
  const patientWithDiv = (end: string): string =>
    patient(`"text":{"status":"generated","div":"<div>${`<p${' '.repeat(1_000_000)}`}></p>${end}</div>"}`)
  t.strictSame(findDifferences(patientWithDiv('<br/>'), patientWithDiv('<br></br>')), [])
})
