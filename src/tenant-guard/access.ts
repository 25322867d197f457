import { failureOf } from '../envelope/error-handlers.js'
import type { FailureCode } from '../envelope/failures.js'
import type { StoredResource } from '../mappings/fhir.js'
import type { InteractionKind } from './fhir-interaction.js'
import { kindsInR4 } from './kinds-in-r4.js'

/** One interaction with a tenant's records, as it ended, for who keeps account of accesses. Nothing of what the records hold. */
export interface Access {
  readonly kind: InteractionKind
  readonly type: string
  /** Of the record that was asked for or made. */
  readonly id?: string
  /** The records that were shown, as `Type/id`. */
  readonly shown: readonly string[]
  /** Absent where it was done. */
  readonly failure?: FailureCode
}

/** Who keeps account; absent where nobody does. */
interface Accounting { readonly onAccess?: (access: Access) => void }

type Asked = Pick<Access, 'kind' | 'type'> & { readonly id?: unknown }

/** Performs an interaction and notes how it ended; where nobody keeps account it is just performed. */
export async function noted<T> ({ onAccess }: Accounting, asked: Asked, { perform, shown }: { readonly perform: () => Promise<T>, readonly shown: (result: T) => readonly string[] }): Promise<T> {
  if (onAccess === undefined) return await perform()
  try {
    const result = await perform()
    onAccess(accessOf(asked, shown(result)))
    return result
  } catch (error) {
    onAccess({ ...accessOf(asked, []), failure: failureOf(error).code })
    throw error
  }
}

/** Of an interaction that was done. */
export function accessOf ({ kind, type, id }: Asked, shown: readonly string[]): Access {
  // What was made, or found by criteria, is the one record of the answer.
  const own = typeof id === 'string' ? id : !kindsInR4[kind].isList && shown.length === 1 ? shown[0]!.split('/')[1] : undefined
  return { kind, type, ...own !== undefined && { id: own }, shown }
}

/** `Patient/1` */
export const nameOf = ({ resourceType, id }: Pick<StoredResource, 'resourceType' | 'id'>): string => `${resourceType}/${id}`
