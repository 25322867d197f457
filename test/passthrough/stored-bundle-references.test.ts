import t from 'tap'
import type { FhirResource } from '../../src/mappings/fhir.js'
import { startSandbox } from '../../src/sandbox/sandbox.js'
import { replaceCanonicals } from '../../src/tenant-guard/operations/validate.js'
import { collectReferences } from '../../src/tenant-guard/writes/references.js'
import { buildBundle, buildEntry, assertRejected, openWorld, buildPatient } from './fixture.js'

const urn = 'urn:uuid:0c3151bd-1cbf-4d64-b04d-cd9187a4c6e0'
const buildReferencing = (reference: string, more: object = {}) => ({ resourceType: 'Observation', subject: { reference }, ...more })
const collectPaths = (...entry: object[]) => collectReferences({ resourceType: 'Bundle', entry }, []).map(({ path }) => path)
const subjectPath = (at: number) => `Bundle.entry[${at}].resource.subject`

// References of a document to its own entries were looked up among the records of the server, so no document could be
// stored.
t.test('a reference is internal only where it leads to something of the same resource or Bundle', async t => {
  const holder = buildReferencing('#p', { contained: [{ resourceType: 'Patient', id: 'p', link: [{ other: { reference: '#' } }] }] })
  t.strictSame(
    collectPaths({ fullUrl: urn, resource: { resourceType: 'Patient' } }, { resource: buildReferencing(urn) }, { resource: holder }),
    []
  )
  t.strictSame(collectPaths({ resource: holder }, { resource: buildReferencing('#p') }), [subjectPath(1)], 'what another entry contains')
  t.strictSame(
    collectPaths({ resource: buildReferencing(urn) }, { fullUrl: 'urn:oid:1.2.3', resource: buildReferencing('urn:oid:1.2.4') }),
    [subjectPath(0), subjectPath(1)],
    'a name that no entry has'
  )
  t.strictSame(
    collectPaths(
      { fullUrl: 'Patient/1', resource: buildReferencing('Patient/1') },
      { fullUrl: 'http://x/Patient/1', resource: buildReferencing('http://x/Patient/1') }
    ),
    ['Bundle.entry[0].fullUrl', subjectPath(0)],
    'a URL that is no absolute one names no entry'
  )
  t.strictSame(
    collectPaths({ fullUrl: 'http://x/Patient/1', resource: buildReferencing('http://x/Patient/2') }),
    [subjectPath(0)],
    'any other URL'
  )
  t.strictSame(
    collectPaths({ resource: { resourceType: 'Bundle', entry: [{ fullUrl: urn }] } }, { resource: buildReferencing(urn) }),
    [subjectPath(1)],
    'what a Bundle within it holds'
  )
  t.strictSame(
    collectReferences({ resourceType: 'Observation', entry: [{ fullUrl: urn }], subject: { reference: urn } }, [])
      .length,
    1,
    'what is no Bundle has no entries'
  )
})

const buildEntryUrl = (at: number) => `urn:uuid:${at}`
const buildHolder = (at: number) => ({
  resourceType: 'Observation',
  subject: { reference: buildEntryUrl(at) },
  focus: [{ reference: '#c' }],
  contained: [{ resourceType: 'Basic', id: 'c', subject: { reference: '#' } }]
})
const count = 60_000

// The names of all entries were copied for each entry that contains something: 1 MiB stopped the gateway for seconds,
// 16 MiB for many minutes.
t.test('the references of a Bundle whose many entries each contain a resource are checked in a moment', async t => {
  const entry = Array.from({ length: count }, (_, at) => ({
    fullUrl: buildEntryUrl(at),
    resource: buildHolder((at + 1) % count)
  }))
  t.strictSame(collectReferences({ resourceType: 'Bundle', entry }, []), [])
  t.strictSame(
    collectReferences({ resourceType: 'Bundle', entry: [...entry, { resource: buildHolder(count) }] }, []).map(
      ({ path }) => path
    ),
    [`Bundle.entry[${count}].resource.subject`]
  )
})

const canonicalCount = 100_000

// The whole response was searched for each canonical: 50,000 of them stopped the gateway for minutes.
t.test('the canonicals of a validated resource are put back into the response in one pass', async t => {
  const library = Array.from({ length: canonicalCount }, (_, at) => `http://example.org/Library/"${at}"`)
  const { resource, restored } = replaceCanonicals({ resourceType: 'PlanDefinition', library } as FhirResource)
  const buildIssues = (names: readonly string[]) =>
    names.map(name => ({
      diagnostics: `${name} cannot be resolved, and urn:uuid:0c3151bd-1cbf-4d64-b04d-cd9187a4c6e0 neither`
    }))
  const outcome = JSON.stringify({ issue: buildIssues((resource as unknown as { library: string[] }).library) })
  t.notMatch(outcome, /example\.org/)
  t.equal(restored(outcome), JSON.stringify({ issue: buildIssues(library) }))
})

// HAPI responds to another root with 500, so a client got 502 with the advice to try again.
t.test('a narrative that is not within <div> is refused with its path', async t => {
  const sandbox = await startSandbox({ file: ':memory:', now: () => new Date() })
  t.after(() => sandbox.close())
  const { send } = await (await openWorld(t, { url: sandbox.url, server: 'sandbox' })).fhir()
  const buildPatientWithText = (div: string) => buildPatient({ text: { status: 'generated', div } })
  const xhtml = 'xmlns="http://www.w3.org/1999/xhtml"'
  for (const div of [
    `<p ${xhtml}>x</p>`,
    ' <script>x</script>',
    '<Div>x</Div>',
    '<div2/>',
    '<div.x/>',
    '<?xml version="1.0"?><p>x</p>',
    '<h:p xmlns:h="http://www.w3.org/1999/xhtml">x</h:p>',
    'x < y <b>z</b>'
  ]) {
    assertRejected(
      t,
      await send('POST', '/Patient', buildPatientWithText(div)),
      {
        status: 422,
        code: 'structure',
        diagnostics: /within one <div>, with text or an image, without scripts$/,
        expression: ['Patient.text.div']
      },
      div
    )
    assertRejected(
      t,
      await send(
        'POST',
        '',
        buildBundle('transaction', buildEntry('POST', 'Patient', buildPatient()), buildEntry('POST', 'Patient', buildPatientWithText(div)))
      ),
      { status: 422, expression: ['Bundle.entry[1].resource.text.div'] },
      div
    )
    t.match(
      await send('POST', '/Patient/$validate', buildPatientWithText(div)),
      { status: 200, resource: { issue: [{ code: 'structure', expression: ['Patient.text.div'] }] } },
      div
    )
  }
  for (const div of [
    `<div ${xhtml}>x</div>`,
    `\n<div\n${xhtml}><p>x</p></div>`,
    `<?xml version="1.0"?><div ${xhtml}>x</div>`,
    '<h:div xmlns:h="http://www.w3.org/1999/xhtml">x</h:div>'
  ]) {
    t.match(await send('POST', '/Patient', buildPatientWithText(div)), { status: 201 }, div)
  }
})
