import { boolean } from '../datatypes/primitives.js'
import { datatype } from '../core/datatype.js'
import { backbone } from '../core/structure.js'

const { codec } = backbone({ allowed: boolean('allowedBoolean', { required: true, choice: 'allowed' }) })

/**
 * Whether another product may be given. Which one, said by a code, is kept unseen until this is set; the reason goes
 * with it.
 */
export const substitutionAllowed = datatype<boolean>({
  ...boolean.codec,
  revises: true,
  read: stored => codec.read(stored)?.allowed,
  write: (allowed, before) => codec.write({ allowed }, before),
  without: before => codec.without?.(before)
})('substitution', { about: 'Whether another product may be given.' })
