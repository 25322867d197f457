import { idPattern } from '../../fhir/names.js'
import type { FhirElement } from '../../mappings/fhir.js'
import { sendRequest, type TenantContext } from '../tenant-context.js'
import { filterOwned } from '../fetch-owned.js'
import { readRecord } from '../reads/read-record.js'

/**
 * The ids of the patients in a group of the tenant's that are the tenant's too. Members that have left do not count,
 * nor do those of a group in the group.
 * @throws {Failure} NOT_FOUND
 */
export async function membersOf (context: TenantContext, groupId: string): Promise<readonly string[]> {
  const group = readRecord(context, await sendRequest(context, { method: 'GET', path: `Group/${groupId}` }), {
    type: 'Group',
    id: groupId
  })
  const named = new Set((Array.isArray(group.member) ? group.member as FhirElement[] : []).flatMap(patientIn))
  const owned = await filterOwned(context, named)
  return [...named].filter(patient => owned.has(patient)).map(patient => patient.slice('Patient/'.length))
}

const toPatient = new RegExp(`^Patient/${idPattern}`)

function patientIn (member: FhirElement | null): string[] {
  const reference = (member?.entity as FhirElement | undefined)?.reference
  const [patient] = typeof reference === 'string' ? toPatient.exec(reference) ?? [] : []
  return patient === undefined || member?.inactive === true ? [] : [patient]
}
