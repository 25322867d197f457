import { concept, toTextCode, type ConceptValue } from '../datatypes/concept.js'
import { text } from '../datatypes/primitives.js'
import { reference } from '../datatypes/reference.js'
import type { Codec } from '../core/codec.js'
import { datatype } from '../core/datatype.js'
import type { Schema } from '../core/schema.js'
import { backbone } from '../core/structure.js'

/** A confirmed or suspected finding: its code, its words, or a record of it, and its basis. */
interface Finding {
  readonly code?: ConceptValue
  readonly text?: string
  readonly conditionId?: string
  readonly basis?: string
}

const { codec } = backbone({
  item: concept('itemCodeableConcept', { searched: true }),
  conditionId: reference(['Condition', 'Observation', 'Media'])('itemReference'),
  basis: text('basis')
})

type Stored = NonNullable<ReturnType<typeof codec.read>>

/**
 * The code and the words are one CodeableConcept. A code that is sent as text is a code without a system; where R4
 * allows no such code, it is a coding that has only a display.
 */
function toStored ({ code, text, ...rest }: Finding): Stored {
  if (code === undefined) return { ...rest, ...text !== undefined && { item: text } }
  if (typeof code !== 'string') return { ...rest, item: { ...code, ...text !== undefined && { text } } }
  const item = toTextCode(code) === code ? { code } : { display: code }
  return { ...rest, item: { ...item, ...text !== undefined && { text } } }
}

function toFinding ({ item, ...rest }: Stored): Finding {
  if (item === undefined || typeof item === 'string') return { ...rest, ...item !== undefined && { text: item } }
  const { text, ...code } = item
  return { ...rest, code, ...text !== undefined && { text } }
}

const { title: _, anyOf, ...textOrCode } = concept.codec.schema
const [plainText, { title: __, ...object }] = anyOf as [Schema, Schema]
const { text: ___, ...codingProperties } = object.properties!
const { item: ____, ...others } = codec.schema.properties!

/** ClinicalImpression.finding. */
export const finding = datatype<Finding>({
  ...(codec as unknown as Codec<Finding>),
  schema: {
    ...codec.schema,
    properties: {
      code: { ...textOrCode, anyOf: [plainText, { ...object, properties: codingProperties }] },
      text: text.codec.schema,
      ...others
    },
    'x-expects': 'an object with code, text, conditionId and basis'
  },
  accept: finding => toFinding(codec.accept!(toStored(finding))),
  read (stored) {
    const shown = codec.read(stored)
    return shown && toFinding(shown)
  },
  write: (finding, before) => codec.write(toStored(finding), before)
})
