import { attachment } from '../datatypes/complex.js'
import { openCode, text } from '../datatypes/primitives.js'
import type { FhirElement } from '../fhir.js'
import { datatype } from '../core/datatype.js'
import type { Element, DefaultContext } from '../core/element.js'
import { isElement, itemsAt, textAt, withMember } from '../core/path.js'
import type { Schema } from '../core/schema.js'
import { isText } from './choice.js'
import { inMatchingItem } from './list-items.js'

type Attachment = NonNullable<ReturnType<typeof attachment.codec.read>>

/** The longest text of a note; a longer one is stored as a Binary and named by its URL. */
const max = 1024 * 1024

/** Text as it was written, its line breaks and indents too, and nothing that is no text. */
const textSchema: Schema = {
  type: 'string',
  maxLength: max,
  // No character begins both of the first parts, so that a long text is read once.
  pattern: '^[^\\S\\u000B\\u000C]*[^\\s\\u0000-\\u001F\\u007F][^\\u0000-\\u0008\\u000B\\u000C\\u000E-\\u001F\\u007F]*$',
  'x-expects': `text of at most ${max} characters`
}
const plainForm = new RegExp(textSchema.pattern!, 'u')

/** Types of data that may happen to be readable but are not text for people. */
const forPrograms = /^(?:audio|font|image|model|video)\/|^application\/(?:octet-stream|pdf|zip|dicom|msword|vnd\.)/

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** The text that an Attachment holds; undefined for one that holds something else, or stands somewhere else. */
function decodeText (stored: unknown): string | undefined {
  if (
    !isElement(stored) ||
    typeof stored.data !== 'string' ||
    stored.url !== undefined ||
    forPrograms.test(textAt(stored, 'contentType'))
  ) { return undefined }
  try {
    const words = utf8.decode(Buffer.from(stored.data, 'base64'))
    return plainForm.test(words) ? words : undefined
  } catch {
    return undefined
  }
}

/**
 * The parts that remain next to a text that replaces another: its title, and its type unless that is for other data.
 */
function retainSiblings (before: unknown): FhirElement {
  if (!isElement(before) || Object.keys(before).length === 0) return {}
  const { contentType, title } = before
  const stored = {
    contentType: typeof contentType === 'string' && !forPrograms.test(contentType) ? contentType : 'text/plain'
  }
  return decodeText(before) === undefined || title === undefined ? stored : { ...stored, title }
}

const body = datatype<string | Attachment>({
  schema: {
    anyOf: [textSchema, attachment.codec.schema],
    'x-expects': 'text, or an object with contentType, data, url and title; data needs contentType'
  },
  kind: 'string',
  revises: true,
  accept: value => (isText(value) ? value : (decodeText(value) ?? attachment.codec.accept!(value as Attachment))),
  read: stored => decodeText(stored) ?? attachment.codec.read(stored),
  write (value, before) {
    if (!isText(value)) return attachment.codec.write(value as Attachment, before)
    return attachment.codec.write(
      { ...retainSiblings(before), data: Buffer.from(value as string).toString('base64') },
      before
    )
  }
})

const first = { find: () => true }
const description = text('description', { required: true })
const getAttachment = (note: FhirElement): unknown => {
  const [content] = itemsAt(note, 'content')
  return isElement(content) ? content.attachment : undefined
}

/**
 * The title of a DocumentReference: its description, which stands a second time next to a text. An Attachment of
 * another kind, or to which another system gave other words, has a title of its own.
 */
export const noteTitle: Element<string, typeof description.options> = {
  ...description,
  read (note) {
    const attachment = getAttachment(note)
    return (
      description.read(note) ??
      (decodeText(attachment) === undefined ? undefined : text.codec.read((attachment as FhirElement).title))
    )
  },
  write (note, title) {
    const before = noteTitle.read(note)
    if (before === title) return note
    const titled = description.write(note, title)
    const attachment = getAttachment(note)
    const own = isElement(attachment) ? attachment.title : undefined
    if (decodeText(attachment) === undefined || (own !== undefined && own !== before)) return titled
    const [content, ...others] = itemsAt(note, 'content')
    return {
      ...titled,
      content: [
        { ...(content as FhirElement), attachment: withMember(attachment as FhirElement, 'title', title) },
        ...others
      ]
    }
  }
}

const content = inMatchingItem('content', first, body('attachment', { required: true }))

/**
 * The body of a DocumentReference: text, or any other Attachment. A title that stands next to the old text alone is
 * retained.
 */
export const noteContent: typeof content = {
  ...content,
  write (note, value) {
    const after = content.write(note, value)
    return after === note || note.description !== undefined
      ? after
      : withMember(after, 'description', noteTitle.read(note))
  }
}

const plainUnlessTyped = ({ simple }: DefaultContext) => isElement(simple.content) ? undefined : 'text/plain'

/** The type of the body, next to a text or as a part of the Attachment. */
export const noteContentType = inMatchingItem(
  'content',
  first,
  openCode('attachment.contentType', { default: plainUnlessTyped, shortcutOf: 'content' })
)
