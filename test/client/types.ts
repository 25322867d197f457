/** Programs that the client's types accept and reject; `npm run types` compiles it, nothing runs it. */
import {
  createClient,
  type ChangesOf,
  type ClinigateError,
  type Encounter,
  type Patient,
  type PatientChange,
  type PatientCreate,
  type RecordOf,
  type SearchOf
} from '../../src/client/index.js'

const client = createClient({ url: 'https://api.example.org', key: 'svc_test_…' })

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends (<T>() => T extends B ? 1 : 2) ? true : false
const require = <T extends true>(...values: T[]): void => use(...values)
const use = (...values: unknown[]): void => { values.splice(0) }
export const readAlone = () => client.patients.read('1')

require<Same<RecordOf<'patients'>, Patient>>()
require<Same<Awaited<ReturnType<typeof readAlone>>, Patient>>()
require<PatientChange extends ChangesOf<'patients'> ? true : false>()

export async function checkCreateTypes (): Promise<void> {
  await client.patients.create({ firstName: 'Ada', lastName: 'Byron', gender: 'female', deceased: false })
  await client.patients.create({
    firstName: 'Ada',
    lastName: 'Byron',
    maritalStatus: { system: 'urn:x', code: 'M' },
    contact: { relationship: 'mother' }
  })
  await client.patients.create({ firstName: 'Ada' })
  // @ts-expect-error code and status are missing
  await client.observations.create({ patientId: '1' })
  // @ts-expect-error no such field
  await client.patients.create({ firstName: 'Ada', lastName: 'Byron', birthday: '1990' })
  // @ts-expect-error no such code
  await client.patients.create({ firstName: 'Ada', lastName: 'Byron', gender: 'F' })
  // @ts-expect-error shown, never accepted
  await client.patients.create({ firstName: 'Ada', lastName: 'Byron', fullName: 'Ada Byron' })
  // @ts-expect-error a link needs its type
  await client.patients.create({ firstName: 'Ada', lastName: 'Byron', link: [{ otherId: '1' }] })
  // @ts-expect-error no such resource
  await client.patient.create({})
}

export async function checkReadTypes (): Promise<void> {
  const patient = await client.patients.read('1', {
    include: ['encounters', 'care-teams'],
    signal: AbortSignal.timeout(5_000)
  })
  const encounters: Encounter[] = patient.encounters
  const [name, cut]: [string | undefined, string[] | undefined] = [patient.firstName, patient.incomplete]
  // @ts-expect-error was not included
  use(patient.observations)
  // @ts-expect-error nothing of the kind refers to a patient
  await client.patients.read('1', { include: ['plan-definitions'] })
  // @ts-expect-error may be absent: another system may have stored the record
  use(patient.firstName.length)
  use(encounters, name, cut)
}

export async function checkSearchTypes (): Promise<void> {
  await client.practitionerRoles.search({ practitionerId: ['1', '2'], sort: ['-updatedSince', 'id'], count: 10 })
  await client.observations.search({ 'code:text': 'heart', patientId: '1', updatedSince: '2026-01-01' })
  for await (const observation of client.observations.all({ patientId: '1' })) use(observation.valueQuantity?.value)
  // @ts-expect-error no such filter
  await client.patients.search({ birthday: '1990' })
  // @ts-expect-error not to be sorted by
  await client.patients.search({ sort: 'fullName' })
  // @ts-expect-error one date alone
  await client.patients.search({ birthDate: ['1990', '1991'] })
}

export async function checkUpdateTypes (): Promise<void> {
  await client.patients.update('1', { email: null, address: { city: null } }, { ifMatch: '3' })
  await client.patients.update('1', [{ op: 'remove', path: '/email' }])
  // @ts-expect-error required, so it cannot be removed
  await client.observations.update('1', { code: null })
  // @ts-expect-error no operation of JSON Patch
  await client.patients.update('1', [{ op: 'delete', path: '/email' }])
  // @ts-expect-error audit events are never changed
  await client.auditEvents.update('1', {})
  // @ts-expect-error nor deleted
  await client.auditEvents.delete('1')
}

export function checkErrorTypes (error: ClinigateError): string {
  if (error.code === 'RATE_LIMITED') return `wait ${error.retryAfter ?? 0} s`
  // @ts-expect-error no such code
  if (error.code === 'RATE_LIMIT') return ''
  return error.issues.flatMap(({ expression = [] }) => expression).join(', ')
}

export const shapes: { create: PatientCreate; search: SearchOf<'patients'> } = {
  create: { firstName: 'Ada', lastName: 'Byron' },
  search: { lastName: 'byr' }
}
