import { toFailure } from '../envelope/error-handlers.js'
import type { FailureCode } from '../envelope/failures.js'
import type { StoredResource } from '../mappings/fhir.js'
import type { InteractionKind } from './interaction.js'
import { interactionCodes } from './interaction-codes.js'

/** The outcome of one interaction with a tenant's records, for the audit log. It has none of the records' content. */
export interface Access {
  readonly kind: InteractionKind
  readonly type: string
  /** Of the record that was requested or created. */
  readonly id?: string
  /** The records that were shown, as `Type/id`. */
  readonly shown: readonly string[]
  /** Absent if it succeeded. */
  readonly failure?: FailureCode
}

/** Records accesses; absent where none are recorded. */
interface Accounting { readonly onAccess?: (access: Access) => void }

type AccessedRecords = Pick<Access, 'kind' | 'type'> & { readonly id?: unknown }

/** Performs an interaction and reports its outcome if accesses are recorded. `perform` may throw at once. */
export async function withAccessReport<T> (
  { onAccess }: Accounting,
  request: AccessedRecords,
  { perform, shown }: { readonly perform: () => Promise<T>; readonly shown: (result: T) => readonly string[] }
): Promise<T> {
  if (onAccess === undefined) return await perform()
  try {
    const result = await perform()
    onAccess(toAccess(request, shown(result)))
    return result
  } catch (error) {
    onAccess({ ...toAccess(request, []), failure: toFailure(error).code })
    throw error
  }
}

/** The access of an interaction that succeeded. */
export function toAccess ({ kind, type, id }: AccessedRecords, shown: readonly string[]): Access {
  // A record that was created, or found by criteria, is the only one of the response.
  const own =
    typeof id === 'string'
      ? id
      : !interactionCodes[kind].isList && shown.length === 1
          ? shown[0]!.split('/')[1]
          : undefined
  return { kind, type, ...own !== undefined && { id: own }, shown }
}

/** `Patient/1` */
export const toReference = ({ resourceType, id }: Pick<StoredResource, 'resourceType' | 'id'>): string =>
  `${resourceType}/${id}`
