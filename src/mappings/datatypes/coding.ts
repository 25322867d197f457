import { datatype, type Datatype } from '../core/datatype.js'
import { coding, type CodingValue, type KnownCodes } from './concept.js'
import { text } from './primitives.js'

/** A coded thing where R4 has a Coding, or the words for it. */
type CodingOrWords = string | CodingValue

/** A Coding with the manners of a concept: in, words or a coding; out, a string when it holds only its display. */
export function codingOf (known: KnownCodes = {}): Datatype<CodingOrWords> {
  const words = Object.keys(known)
  const accept = (value: CodingOrWords): CodingOrWords => {
    if (typeof value !== 'string') return asWords(value)
    return Object.hasOwn(known, value) ? known[value]! : value
  }
  return datatype<CodingOrWords>({
    schema: {
      anyOf: [text.codec.schema, coding.codec.schema],
      'x-expects': `text, or an object with system, code and display${words.length > 0 ? `; known words: ${words.join(', ')}` : ''}`,
      ...words.length > 0 && { 'x-aliases': known }
    },
    kind: 'token',
    revises: true,
    accept,
    read (stored) {
      const shown = coding.codec.read(stored)
      return shown && asWords(shown)
    },
    write (value, before) {
      const whole = accept(value)
      return coding.codec.write(typeof whole === 'string' ? { display: whole } : whole, before)
    }
  })
}

const asWords = (value: CodingValue): CodingOrWords => Object.keys(value).join() === 'display' ? value.display! : value
