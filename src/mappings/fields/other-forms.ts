/** Other forms in which clients send a value whose shape in responses stays the same. */
import { datatype, type Datatype } from '../core/datatype.js'
import { isElement } from '../core/path.js'
import { text } from '../datatypes/primitives.js'
import { atMostOne } from './exclusive.js'

/** A structure that may also be sent as a text, which stands for one of its members. */
export function orText<T extends object> ({ codec }: Datatype<T>, member: keyof T & string): Datatype<T> {
  const complete = (sent: T): T => typeof sent === 'string' ? { [member]: sent } as T : sent
  return datatype<T>({
    ...codec,
    schema: { anyOf: [text.codec.schema, codec.schema], 'x-shown': codec.schema, 'x-expects': 'text, or an object' },
    accept: sent => codec.accept?.(complete(sent)) ?? complete(sent),
    write: (sent, before) => codec.write(complete(sent), before)
  })
}

/** A structure one of whose members may also be sent under another name. */
export function withOtherName<T extends object> (
  { codec }: Datatype<T>,
  { member, otherName }: { readonly member: keyof T & string; readonly otherName: string }
): Datatype<T> {
  const { required = [], properties = {}, ...schema } = codec.schema
  const complete = (sent: T): T => {
    if (!isElement(sent) || !Object.hasOwn(sent, otherName)) return sent
    const { [otherName]: value, ...others } = sent
    return { ...others, [member]: value } as unknown as T
  }
  return datatype<T>({
    ...codec,
    schema: {
      ...schema,
      properties: { ...properties, [otherName]: properties[member]! },
      required: required.filter(name => name !== member),
      anyOf: [{ required: [member] }, { required: [otherName] }],
      ...atMostOne(member, otherName),
      'x-shown': codec.schema
    },
    accept: sent => codec.accept?.(complete(sent)) ?? complete(sent),
    write: (sent, before) => codec.write(complete(sent), before)
  })
}
