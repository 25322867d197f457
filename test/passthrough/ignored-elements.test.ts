import t from 'tap'
import { startTestSandbox } from '../harness/sandbox.js'
import { buildObservation, openWorld, buildPatient, storeResources } from './fixture.js'

const listMembers = (resource: object) => Object.keys(resource).sort()

t.test('a record read with _elements is reduced and tagged SUBSETTED on a server that ignores them', async t => {
  const { url } = await startTestSandbox(t, { ignoredParameters: ['_elements'] })
  const fhir = await (await openWorld(t, { url, server: 'sandbox' })).fhir()
  const [id] = await storeResources(fhir, buildPatient({ gender: 'female', birthDate: '1990' }))
  const [about] = await storeResources(fhir, buildObservation(`Patient/${id}`, { valueQuantity: { value: 7 } }))
  const read = await fhir.send('GET', `/Patient/${id}?_elements=gender`)
  t.strictSame(listMembers(read.resource), ['gender', 'id', 'meta', 'resourceType'])
  const isSubsetted = ({ meta }: any) => meta.tag.some(({ code }: any) => code === 'SUBSETTED')
  t.ok(isSubsetted(read.resource))
  const complete = await fhir.send('GET', `/Patient/${id}`)
  t.strictSame([complete.resource.birthDate, isSubsetted(complete.resource)], ['1990', false])
  const part = await fhir.send('GET', `/Observation/${about}?_elements=value`)
  t.strictSame(
    listMembers(part.resource),
    ['code', 'id', 'meta', 'resourceType', 'status', 'valueQuantity'],
    'with what is mandatory'
  )
})

t.test('each page of a search with _elements has reduced matches, and included records whole', async t => {
  const { url } = await startTestSandbox(t, { ignoredParameters: ['_elements'] })
  const fhir = await (await openWorld(t, { url, server: 'sandbox' })).fhir()
  const [id] = await storeResources(fhir, buildPatient({ gender: 'female', birthDate: '1990' }))
  for (let i = 0; i < 3; i++) await storeResources(fhir, buildObservation(`Patient/${id}`, { valueQuantity: { value: i } }))
  let path = '/Observation?_elements=status&_include=Observation:subject&_count=2'
  const seen: unknown[] = []
  for (;;) {
    const { resource: { entry, link } } = await fhir.send('GET', path)
    for (const { resource, search: { mode } } of entry) seen.push([mode, listMembers(resource).join()])
    const next = link.find(({ relation }: any) => relation === 'next')?.url
    if (next === undefined) break
    path = next
  }
  const match = ['match', 'code,id,meta,resourceType,status,subject']
  const included = ['include', 'birthDate,gender,id,meta,name,resourceType']
  t.strictSame(seen, [match, match, included, match, included])
})
