import t from 'tap'
import { realBackend } from '../harness/backend.js'
import { isRefused, observation, openWorld, pagesOf, patient, stored } from '../passthrough/fixture.js'

// HAPI passes over _since, start and end, and shows what the records of the types in _type refer to.
t.test(
  '$everything returns the types and times that were asked for, and refuses dates of care that the server ignores',
  async t => {
    const fhir = await (await openWorld(t, { url: realBackend().url, server: 'hapi' })).fhir()
    const [id] = await stored(fhir, patient())
    const url = `/Patient/${id}/$everything`
    await stored(fhir, observation(`Patient/${id}`))
    const {
      resource: { meta }
    } = await fhir.send('GET', `/Patient/${id}`)
    const since = new Date(Date.parse(meta.lastUpdated) + 1).toISOString()
    const found = async (query: string): Promise<string[]> =>
      (await pagesOf(fhir, `${url}${query}`))
        .flatMap(({ resource }) => resource.entry ?? [])
        .map(({ resource }) => resource.resourceType)
        .sort()
    t.strictSame(await found(''), ['Observation', 'Patient'])
    t.strictSame(await found('?_type=Observation'), ['Observation'])
    t.strictSame(await found('?_type=Observation,Encounter&_count=1'), ['Observation'], 'on every page')
    t.strictSame(await found(`?_since=${since}`), ['Observation'])
    t.strictSame(await found('?_since=2099-01-01T00:00:00+01:00'), [], 'with a plus sign that is not encoded')
    for (const dates of ['start=2020-01-01', 'end=2020-01-01']) {
      isRefused(t, await fhir.send('GET', `${url}?${dates}`), { status: 400, code: 'not-supported' }, dates)
    }
    for (const wrong of ['_since=2020', '_type=Observations']) {
      isRefused(t, await fhir.send('GET', `${url}?${wrong}`), 400, wrong)
    }
  }
)
