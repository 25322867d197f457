import type { FhirElement } from '../fhir.js'
import { dateTime, textUpTo } from '../datatypes/primitives.js'
import { reference } from '../datatypes/reference.js'
import type { Element, ElementOptions, InferFields } from '../core/element.js'
import { printAt, withPrinter } from '../core/print.js'
import { record } from '../core/structure.js'

const buildParts = (max?: number) => ({
  text: textUpTo(max)('text', { required: true }),
  authorId: reference(['Practitioner', 'Patient', 'RelatedPerson', 'Organization'])('authorReference', {
    choice: 'author'
  }),
  time: dateTime('time')
})

type Remark = InferFields<ReturnType<typeof buildParts>>

/** One remark as a string, or remarks with their author and time: http://hl7.org/fhir/R4/datatypes.html#Annotation */
type Note = string | Remark[]

/** The Annotations at a path: a string when there is one with text only, otherwise a list; both forms are accepted. */
export function note<const O extends ElementOptions & { readonly max?: number } = object> (
  path = 'note',
  options: O = {} as O
): Element<Note, O & ElementOptions> {
  const max = options.max ?? ''
  const all = record(buildParts(options.max), { schema: { title: `Annotation${max}` } }).list(path)
  const unwrapSingle = (items: Remark[] | undefined): Note | undefined =>
    items?.length === 1 && Object.keys(items[0]!).join() === 'text' ? items[0]!.text : items
  const read = (holder: FhirElement): Note | undefined => unwrapSingle(all.read(holder))
  const toRemarks = (value: Note): Remark[] => (typeof value === 'string' ? [{ text: value }] : value)
  return {
    ...all,
    options: options as O & ElementOptions,
    schema: {
      title: `Remarks${max}`,
      anyOf: [textUpTo(options.max).codec.schema, all.schema],
      'x-expects': 'text, or a list of remarks with text, authorId and time',
      'x-shown-as': 'A string while there is one remark with its text alone, otherwise a list.',
      ...(options.about && { description: options.about })
    },
    accept: value => unwrapSingle(all.accept(toRemarks(value)))!,
    read: withPrinter(read, printAt(path, read)),
    write: (holder, value) => all.write(holder, value === undefined ? undefined : toRemarks(value))
  }
}
