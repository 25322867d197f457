/** R4's logical id, as an expression; ids of versions are of the same form: http://hl7.org/fhir/R4/datatypes.html#id */
export const idPattern = '[A-Za-z0-9.-]{1,64}'

/** The name of a resource type, as an expression; it knows no list of them. */
export const typePattern = '[A-Z][A-Za-z]{1,63}'

const idRegExp = new RegExp(`^${idPattern}$`)

/** Whether a text has the form of an id. `.` and `..` have, and are steps in a path; {@link isId} refuses them. */
export const isValidId = (text: string): boolean => idRegExp.test(text)

/** Whether this is an id as R4 has it, and no step in a path. */
export function isId (id: unknown): id is string {
  return typeof id === 'string' && isValidId(id) && id !== '.' && id !== '..'
}

/** The name of a resource type with its article, for messages: `a Patient`, `an Encounter`. */
export const withArticle = (type: string): string => `${/^[AEIO]/.test(type) ? 'an' : 'a'} ${type}`
