import table from './compartments.json' with { type: 'json' }

const rows: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = table

/**
 * The types whose compartments group other records, of those that are defined here:
 * http://hl7.org/fhir/R4/compartmentdefinition.html
 */
export const compartments: readonly string[] = Object.keys(rows)

/**
 * The search parameters by which a record of a type is in the compartment of another one, each of them enough;
 * undefined for a type that R4 does not have in it.
 */
export function findCompartmentParameters (compartment: string, type: string): readonly string[] | undefined {
  const types = Object.hasOwn(rows, compartment) ? rows[compartment]! : {}
  return Object.hasOwn(types, type) ? types[type] : undefined
}
