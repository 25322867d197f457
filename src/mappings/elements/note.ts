import { dateTime, text } from '../datatypes/primitives.js'
import { reference } from '../datatypes/reference.js'
import type { Element, ElementOptions } from '../kit/element.js'
import type { Simple } from '../kit/element.js'
import { record } from '../kit/structure.js'

const parts = {
  text: text('text', { required: true }),
  authorId: reference(['Practitioner', 'Patient', 'RelatedPerson', 'Organization'])('authorReference', { choice: 'author' }),
  time: dateTime('time')
}
const annotation = record(parts)

/** One remark as a string, or remarks with their author and time: http://hl7.org/fhir/R4/datatypes.html#Annotation */
export type Note = string | Array<Simple<typeof parts>>

/** The Annotations at a path: a string when there is one with text only, otherwise a list; both forms are accepted. */
export function note<const O extends ElementOptions & { readonly max?: number } = object> (path = 'note', options: O = {} as O): Element<Note, O> {
  const all = annotation.list(path)
  const alone = (items: Array<Simple<typeof parts>> | undefined): Note | undefined =>
    items?.length === 1 && Object.keys(items[0]!).join() === 'text' ? items[0]!.text : items
  const listed = (value: Note): Array<Simple<typeof parts>> => typeof value === 'string' ? [{ text: value }] : value
  return {
    ...annotation.list(path, options),
    schema: { anyOf: [{ ...text.codec.schema, ...options.max !== undefined && { maxLength: options.max } }, all.schema], 'x-expects': 'text, or a list of remarks with text, authorId and time', ...options.about && { description: options.about } },
    accept: value => alone(all.accept(listed(value)))!,
    read: holder => alone(all.read(holder)),
    write: (holder, value) => all.write(holder, value === undefined ? undefined : listed(value))
  }
}
