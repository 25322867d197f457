import { Type, type TProperties } from 'typebox'

// What the schemas of the entities of the control plane have in common. Each is the one declaration of what people and
// programs see of an entity: its type comes from it, and so does the document of the admin API.

/** An object without any other members. */
export const entitySchema = <P extends TProperties>(properties: P, options: { readonly minProperties?: number } = {}) =>
  Type.Object(properties, { ...options, additionalProperties: false })

/** The schema of a change of an entity: at least one of these properties. */
export const changesSchema = <P extends TProperties>(properties: P) => entitySchema(properties, { minProperties: 1 })

type WithoutNulls<Row> =
  & { [K in keyof Row as null extends Row[K] ? never : K]: Row[K] }
  & { [K in keyof Row as null extends Row[K] ? K : never]?: NonNullable<Row[K]> }

/** A row as people and programs see it: a column without a value is absent. */
export function omitNulls<Row extends object> (row: Row): WithoutNulls<Row> {
  return Object.fromEntries(Object.entries(row).filter(([, value]) => value !== null)) as WithoutNulls<Row>
}

/** A time in ISO 8601. */
export const dateTimeSchema = (description: string) => Type.String({ format: 'date-time', description })

/** A text that is not empty. */
export const textSchema = (description: string, maxLength = 200) =>
  Type.String({ description, minLength: 1, maxLength })

/** When a key or token is to expire. */
export const expirySchema = Type.String({
  description: 'When it expires, in ISO 8601 with a time zone, such as 2030-01-31T00:00:00Z',
  format: 'date-time'
})

/** Tenant id of an organization. */
export const tenantIdSchema = Type.String({
  description: 'Tenant id of the organization, as in the tag of its records',
  maxLength: 64
})
