import { isNumber } from '../../json/json.js'
import { attachment } from '../datatypes/complex.js'
import { coding, type CodingValue } from '../datatypes/concept.js'
import { boolean, date, dateTime, decimal, integer, text, time, uri } from '../datatypes/primitives.js'
import { quantity } from '../datatypes/quantities.js'
import { anyReference } from '../datatypes/reference.js'
import type { FhirElement } from '../fhir.js'
import { datatype, type Datatype } from '../core/datatype.js'
import type { Element } from '../core/element.js'
import { itemsAt } from '../core/path.js'
import { backbone, recursiveBackbone } from '../core/structure.js'
import { isBoolean, isText, atMostOne } from './choice.js'

const values = {
  valueString: text('valueString', { choice: 'value' }),
  valueBoolean: boolean('valueBoolean', { choice: 'value' }),
  valueInteger: integer('valueInteger', { choice: 'value' }),
  valueDecimal: decimal('valueDecimal', { choice: 'value' }),
  valueDate: date('valueDate', { choice: 'value' }),
  valueDateTime: dateTime('valueDateTime', { choice: 'value' }),
  valueTime: time('valueTime', { choice: 'value' }),
  valueUri: uri('valueUri', { choice: 'value' }),
  valueCoding: coding('valueCoding', { choice: 'value' }),
  valueQuantity: quantity('valueQuantity', { choice: 'value' }),
  valueAttachment: attachment('valueAttachment', { choice: 'value' }),
  valueReference: anyReference('valueReference', { choice: 'value' })
}

type Value<K extends keyof typeof values> = NonNullable<ReturnType<typeof values[K]['read']>>

/** One value, and the questions that it led to. */
interface Answer {
  readonly valueString?: string
  readonly valueBoolean?: boolean
  readonly valueInteger?: number
  readonly valueDecimal?: number
  readonly valueDate?: string
  readonly valueDateTime?: string
  readonly valueTime?: string
  readonly valueUri?: string
  readonly valueCoding?: CodingValue
  readonly valueQuantity?: Value<'valueQuantity'>
  readonly valueAttachment?: Value<'valueAttachment'>
  readonly valueReference?: string
  readonly items?: readonly ResponseItem[]
}

/** A question with its answers, or a group of questions. */
interface ResponseItem {
  readonly linkId: string
  readonly definition?: string
  readonly text?: string
  readonly answer?: ReadonlyArray<Answer | string | number | boolean>
  readonly items?: readonly ResponseItem[]
}

/** An answer may have no value and still have items below it. */
const isShown = (answer: FhirElement): boolean =>
  itemsAt(answer, 'item').length > 0 || Object.values<Element>(values).some(value => value.read(answer) !== undefined)

const names = Object.keys(values)
const valueOrItems = { ...atMostOne(...names), anyOf: [...names, 'items'].map(name => ({ required: [name] })) }

function buildAnswer (items: Datatype<ResponseItem>): Datatype<Answer> {
  const { codec } = backbone({ ...values, items: items.list('item') }, { schema: valueOrItems, where: isShown })
  const bare = [text.codec.schema, decimal.codec.schema, boolean.codec.schema]
  return datatype<Answer>({
    ...(codec as unknown as Datatype<Answer>['codec']),
    schema: {
      anyOf: [...bare, codec.schema],
      'x-expects':
        'text, a number, true or false, or an object with one value such as valueString or valueCoding, items or both'
    },
    accept: answer => codec.accept!(toNamedValue(answer) as never) as Answer,
    write: (answer, before) => codec.write(toNamedValue(answer) as never, before)
  })
}

/** A bare answer by the name of its value. A number written with a point is a decimal, even when it is whole. */
function toNamedValue (answer: unknown): unknown {
  if (isText(answer)) return { valueString: answer }
  if (isBoolean(answer)) return { valueBoolean: answer }
  if (isNumber(answer)) return isInteger(answer) ? { valueInteger: answer } : { valueDecimal: answer }
  return answer
}

const isInteger = (value: unknown): boolean => Number.isInteger(value) && Math.abs(value as number) < 2 ** 31

/** QuestionnaireResponse.item: questions in their groups, and the questions to which a response led. */
export const responseItem = recursiveBackbone<ResponseItem>('Item', self => ({
  linkId: text('linkId', { required: true }),
  definition: uri('definition'),
  text: text('text'),
  answer: buildAnswer(self).list('answer'),
  items: self.list('item')
}))
