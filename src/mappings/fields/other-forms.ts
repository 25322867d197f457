/** Other forms in which clients send a value whose shape in responses stays the same. */
import { datatype, type Datatype } from '../core/datatype.js'
import { isElement } from '../core/path.js'
import { text } from '../datatypes/primitives.js'
import { atMostOne } from './choice.js'
import type { InputNormalizer } from '../core/mapping.js'

/** A structure that may also be sent as a text, which represents one of its members. */
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

/**
 * The one policy without an authority among those that were sent, as the `policyUri` that it is shown as. Several of
 * them, or one next to a `policyUri`, stay where they are and are refused there.
 */
export const normalizePolicyUri: InputNormalizer = (sent, emptied) => {
  const { policies = [], ...others } = sent
  const all = [policies].flat()
  const [separate, ...more] = all.filter(hasUriAlone)
  if (separate === undefined || more.length > 0 || Object.hasOwn(sent, 'policyUri')) return sent
  const rest = all.filter(policy => policy !== separate)
  const left = rest.length > 0 ? rest : emptied
  return { ...others, policyUri: separate.uri, ...left !== undefined && { policies: left } }
}

const hasUriAlone = (policy: unknown): policy is { readonly uri: unknown } =>
  isElement(policy) && Object.keys(policy).join() === 'uri'
