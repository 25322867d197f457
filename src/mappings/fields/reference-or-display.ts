import { idPattern, typePattern } from '../../fhir/names.js'
import { text } from '../datatypes/primitives.js'
import { localReference } from '../datatypes/reference.js'
import { datatype, type Datatype } from '../core/datatype.js'
import { isElement } from '../core/path.js'

/**
 * A record of any type as `Type/id`, also where the type is the usual one: an audit trail leaves nothing to be guessed.
 */
export const anyResourceReference: Datatype<string> = datatype<string>({
  schema: { type: 'string', pattern: `^${typePattern}/${idPattern}$`, 'x-expects': 'Type/id, such as Observation/123' },
  kind: 'reference',
  read: stored => isElement(stored) ? localReference(stored.reference) : undefined,
  write: value => ({ reference: value })
})

/**
 * Someone or something as `Type/id` of a record of these types; any other text is the name of one that has no record.
 */
export function referenceOrDisplay (types: readonly string[]): Datatype<string> {
  const isRecord = (value: string): boolean => localReference(value) === value && types.includes(value.split('/')[0]!)
  return datatype<string>({
    schema: { ...text.codec.schema, 'x-names': types, 'x-expects': `Type/id, where the type is one of ${types.join(', ')}, the id alone, or a name` },
    kind: 'reference',
    read (stored) {
      if (!isElement(stored)) return undefined
      return stored.reference === undefined ? text.codec.read(stored.display) : localReference(stored.reference)
    },
    write: value => isRecord(value) ? { reference: value } : { display: value }
  })
}
