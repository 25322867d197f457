import { isNothing, type Walk, reportFault } from './walk.js'
import table from './required-codes.json' with { type: 'json' }
import type { FhirElement } from '../fhir.js'

const sets = table as unknown as Readonly<Record<string, Readonly<Record<string, readonly string[]>>>>

/** Longest set that a message lists. */
const maxListed = 12

/** A value set that R4 lists in full. */
interface ValueSet {
  readonly systems: ReadonlyMap<string, ReadonlySet<string>>
  readonly codes: ReadonlySet<string>
  /** The expected codes, in words. */
  readonly message: string
}

const known = new Map<string, ValueSet>()

function getValueSet (name: string): ValueSet {
  const found = known.get(name)
  if (found !== undefined) return found
  const systems = new Map(Object.entries(sets[name]!).map(([system, codes]) => [system, new Set(codes)]))
  const codes = new Set([...systems.values()].flatMap(codes => [...codes]))
  const message =
    codes.size <= maxListed ? `one of ${[...codes].join(', ')}` : `a code of http://hl7.org/fhir/ValueSet/${name}`
  const valueSet = { systems, codes, message }
  known.set(name, valueSet)
  return valueSet
}

/** A check of codes against the value set of a required binding: http://hl7.org/fhir/R4/terminologies.html#required */
export function createCodeCheck (name: string): (value: unknown, walk: Walk) => void {
  const { codes, message } = getValueSet(name)
  return (value, walk) => {
    if (!codes.has(value as string)) reportFault(walk, `expected ${message}`, { code: 'code-invalid' })
  }
}

/**
 * The same of a CodeableConcept, one of whose codings has to be of the set, or of a Coding. One that only says why it
 * has no code is let be.
 */
export function createCodingCheck (name: string): (value: FhirElement, walk: Walk) => void {
  const { systems, message } = getValueSet(name)
  const isIn = ({ system, code, _code }: FhirElement): boolean =>
    code === undefined ? !isNothing(_code) : systems.get(system as string)?.has(code as string) === true
  return (value, walk) => {
    const { coding, text } = value
    const codings = Array.isArray(coding) ? coding as readonly FhirElement[] : []
    if (codings.length === 0 && text === undefined) return
    if (!codings.some(item => !isNothing(item) && isIn(item))) {
      reportFault(walk, `expected a coding of ${[...systems.keys()].join(' or ')}: ${message}`, { code: 'code-invalid' })
    }
  }
}
