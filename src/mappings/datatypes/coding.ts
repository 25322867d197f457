import type { Codec } from '../core/codec.js'
import { datatype, type Datatype } from '../core/datatype.js'
import { coding, type CodingValue, type KnownCodes } from './concept.js'
import { text } from './primitives.js'

/** A coded thing where R4 has a Coding, or the words for it. */
type CodingOrText = string | CodingValue

/** A Coding that behaves like a concept: in, words or a coding; out, a string when it holds only its display. */
export function codingOf (known: KnownCodes = {}): Datatype<CodingOrText> {
  const codes = Object.keys(known)
  const accept = (value: CodingOrText): CodingOrText => {
    if (typeof value !== 'string') return toCodingOrText(coding.codec.accept!(value))
    return Object.hasOwn(known, value) ? known[value]! : value
  }
  const codec: Codec<CodingOrText> = {
    schema: {
      anyOf: [text.codec.schema, coding.codec.schema],
      'x-expects': `text, or an object with system, code and display${codes.length > 0 ? `; known words: ${codes.join(', ')}` : ''}`,
      ...(codes.length > 0 && { 'x-aliases': known })
    },
    kind: 'token',
    revises: true,
    accept,
    read (stored) {
      const shown = coding.codec.read(stored)
      return shown && toCodingOrText(shown)
    },
    write (value, before) {
      const acceptedValue = accept(value)
      return coding.codec.write(typeof acceptedValue === 'string' ? { display: acceptedValue } : acceptedValue, before)
    }
  }
  const write: Codec<CodingOrText>['write'] = (value, before) => {
    const acceptedValue = accept(value)
    return coding.codec.searched!.write(
      typeof acceptedValue === 'string' ? { display: acceptedValue } : acceptedValue,
      before
    )
  }
  return datatype<CodingOrText>({ ...codec, searched: { ...codec, write } })
}

const toCodingOrText = (value: CodingValue): CodingOrText =>
  Object.keys(value).join() === 'display' ? value.display! : value
