import t from 'tap'
import { realBackend } from '../harness/backend.js'
import { openWorld } from '../passthrough/fixture.js'

// DocumentReference?relationship= and the coordinates of a MolecularSequence were stated, and HAPI refused them.
t.test('each composite search parameter of the CapabilityStatement is answered', async t => {
  const fhir = await (await openWorld(t, { url: realBackend().url, server: 'hapi' })).fhir()
  const { resource: { rest: [{ resource }] } } = await fhir.send('GET', '/metadata')
  const stated = resource.flatMap(({ type, searchParam = [] }: any) =>
    searchParam.filter((parameter: any) => parameter.type === 'composite').map(({ name }: any) => ({ type, name }))
  )
  t.ok(stated.length > 30)
  for (const { type, name } of stated) {
    const value = name.endsWith('-quantity') ? 'a$5' : name.endsWith('-date') ? 'a$2024' : 'a$b'
    t.equal((await fhir.send('GET', `/${type}?${name}=${value}&_count=1`)).status, 200, `${type}?${name}`)
  }
})
