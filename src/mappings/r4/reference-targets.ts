import { typePattern, idPattern } from '../../fhir/names.js'
import type { FhirElement } from '../fhir.js'
import { isResourceType } from './elements.js'
import { reportFault, type Walk } from './walk.js'

const ofRecord = new RegExp(
  `^(?:https?://.+/)?(${typePattern})/${idPattern}(?:/_history/${idPattern})?$|^(${typePattern})\\?`
)

/**
 * Whether a reference leads to one of the types that R4 allows there. That it leads to a record at all is for the
 * tenant guard.
 */
export function checkReference (value: FhirElement, targets: ReadonlySet<string> | undefined, walk: Walk): void {
  const { reference, type } = value
  if (typeof reference === 'string') {
    const isLocal = reference.length > 1 && reference.startsWith('#')
    const found = isLocal ? walk.contained.get(reference.slice(1)) : typeIn(reference)
    if (found !== undefined && targets?.has(found) === false) {
      reportFault(walk, leadsTo(targets), 'invalid', 'reference')
    }
  }
  if (typeof type === 'string' && targets?.has(type) === false && isResourceType(type)) {
    reportFault(walk, leadsTo(targets), 'invalid', 'type')
  }
}

const leadsTo = (targets: ReadonlySet<string>): string => `expected a reference to ${[...targets].join(', ')}`

function typeIn (reference: string): string | undefined {
  const [, record, searched] = ofRecord.exec(reference) ?? []
  const type = record ?? searched
  return type !== undefined && isResourceType(type) ? type : undefined
}
