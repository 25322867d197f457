import t from 'tap'
import { realBackend } from '../harness/backend.js'
import { observation, openWorld, patient, stored } from '../passthrough/fixture.js'

// HAPI took ge2024 for what reaches the end of 2024, and le2024 for what begins with it.
t.test('a search from or until a year or month finds what is within it', async t => {
  const fhir = await (await openWorld(t, { url: realBackend().url, server: 'hapi' })).fhir()
  const days = ['2023-12-31', '2024-01-01', '2024-02-29', '2024-06-15', '2024-12-31', '2025-01-01']
  await stored(fhir, ...days.map(birthDate => patient({ birthDate })))
  const found = async (path: string): Promise<string[]> => {
    const { status, resource } = await fhir.send('GET', path)
    t.equal(status, 200, path)
    return (resource.entry ?? []).map(({ resource }: any) => resource.birthDate ?? resource.valueDateTime).sort()
  }
  t.strictSame(await found('/Patient?birthdate=ge2024'), days.slice(1))
  t.strictSame(await found('/Patient?birthdate=le2024'), days.slice(0, 5))
  t.strictSame(await found('/Patient?birthdate=ge2024-02&birthdate=le2024-06'), days.slice(2, 4))
  t.strictSame(await found('/Patient?birthdate=le2024-02'), days.slice(0, 3))
  const [id] = await stored(fhir, patient())
  await stored(fhir, ...days.map(valueDateTime => observation(`Patient/${id}`, { valueDateTime })))
  t.strictSame(await found('/Observation?code-value-date=29463-7$ge2024-06'), days.slice(3), 'in a composite')
  const { resource } = await fhir.send('GET', '/Patient?_has:Observation:patient:value-date=le2024&_total=accurate')
  t.equal(resource.total, 1, 'in a condition of other records')
})
