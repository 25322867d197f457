/**
 * Content of a record that no field shows and that a reader needs: what may change the meaning of the shown content,
 * and the name of a person of whom no name is shown. The reader gets a warning of it.
 */
import { maxIssues, fieldIssue, type Issue } from '../../envelope/failures.js'
import type { FhirElement } from '../fhir.js'
import { getAt, isElement, itemsAt } from './path.js'

/**
 * A warning for each part of a record that may change what its fields say, and that no field shows: modifier extensions
 * and implicit rules, for which R4 requires every reader to look
 * (http://hl7.org/fhir/R4/extensibility.html#modifierExtension), and what belongs to a part that is shown alone, such
 * as the second of two dosages; and for the name of a contact that is stored as one text. Contained resources are not
 * shown either.
 * @param where the record in the response; absent for the only one
 */
export function listMeaningWarnings (record: FhirElement, where = String(record.resourceType)): Issue[] {
  const paths = [
    ...listModifiers(record).map(path => path.slice(1)),
    ...listHiddenAddresses(record),
    ...listHiddenDosageParts(record)
  ]
  return [
    ...paths.map(path => [path, changesMeaning] as const),
    ...listHiddenNames(record).map(path => [path, isOnlyName] as const)
  ].slice(0, maxIssues).map(([path, message]) => ({
    ...fieldIssue(`${where}.${path}`, message, 'informational'),
    severity: 'warning'
  }))
}

const changesMeaning =
  'is not shown here and may change what the record says, even to the opposite; read it in raw FHIR before you rely on it'
const isOnlyName = 'is the only form in which the name is stored, and is not shown here; read it in raw FHIR'

const modifierNames = ['modifierExtension', 'implicitRules']

const dosageNames: Readonly<Record<string, string>> = {
  MedicationRequest: 'dosageInstruction', MedicationDispense: 'dosageInstruction', MedicationStatement: 'dosage'
}

/** Without one of these the text of a record has nothing to be warned of. */
const hintNames = new Set([...modifierNames, 'old', ...Object.values(dosageNames)])
const hint = new RegExp([
  `"(?:${[...hintNames].join('|')})"`,
  // One name, of a contact, that does not begin with its parts.
  '"name"\\s*:\\s*\\{\\s*(?:"use"\\s*:\\s*"[^"]*"\\s*,\\s*)?"(?!use"|family"|given")'
].join('|'))

/**
 * Whether JSON of records may have something to be warned of; most has nothing and need not be parsed. One expression
 * over all of it takes a sixth of the time of a search of the bytes for each name.
 */
export const mayNeedWarning = (json: Buffer): boolean => hint.test(json.toString('latin1'))

const nowhere: readonly string[] = []

/** @returns where they are below the value; each read goes through all of its record, so only these paths are made */
function listModifiers (value: unknown): readonly string[] {
  if (Array.isArray(value)) {
    return value.flatMap((item, index) => listModifiers(item).map(path => `[${index}]${path}`))
  }
  if (!isElement(value)) return nowhere
  let found = nowhere
  for (const name in value) {
    if (modifierNames.includes(name)) found = [...found, `.${name}`]
    else if (typeof value[name] === 'object' && name !== 'contained') {
      const nested = listModifiers(value[name])
      if (nested.length > 0) found = [...found, ...nested.map(path => `.${name}${path}`)]
    }
  }
  return found
}

/** The fields of a contact show the parts of its name only. */
function listHiddenNames (record: FhirElement): readonly string[] {
  return itemsAt(record, 'contact').flatMap((contact, index) => {
    const name = isElement(contact) ? contact.name : undefined
    const isTextAlone = isElement(name) && typeof name.text === 'string' && !('family' in name) && !('given' in name)
    return isTextAlone ? [`contact[${index}].name.text`] : []
  })
}

/** The first address is shown alone: where it is out of use, by its modifier `use`, one that is in use is not. */
function listHiddenAddresses (record: FhirElement): readonly string[] {
  const uses = itemsAt(record, 'address').map(address => isElement(address) ? address.use : undefined)
  const inUse = uses.findIndex(use => use !== 'old')
  return uses[0] === 'old' && inUse > 0 ? [`address[${inUse}]`] : []
}

/**
 * Only the first Dosage is shown, and of it the first dose and the minimum of the frequency: 2 tablets in the morning
 * of a patient who takes another in the evening.
 */
function listHiddenDosageParts (record: FhirElement): readonly string[] {
  const name = dosageNames[String(record.resourceType)]
  if (name === undefined) return []
  const dosages = itemsAt(record, name)
  const others = dosages.slice(1).map((_, index) => `${name}[${index + 1}]`)
  const [first] = dosages
  if (!isElement(first) || record.resourceType === 'MedicationDispense') return others
  const doses = itemsAt(first, 'doseAndRate').slice(1).map((_, index) => `${name}[0].doseAndRate[${index + 1}]`)
  const limits = ['timing.repeat.frequencyMax', 'timing.repeat.periodMax']
    .filter(path => getAt(first, path) !== undefined)
    .map(path => `${name}[0].${path}`)
  return [...others, ...doses, ...limits]
}
