import type { BackendAnswer } from '../../backends/backend.js'
import type { StoredResource } from '../../mappings/fhir.js'
import { elementsOfText } from '../../mappings/r4/elements.js'
import { ask, checkedJsonOf, type Door } from '../door.js'
import type { FhirAnswer } from '../fhir-answer.js'
import type { FhirRead, Shape } from '../fhir-interaction.js'
import { shapeParameters } from './fhir-search.js'
import type { VersionRead } from '../interaction.js'
import { publicText } from '../public-urls.js'
import { encodeParameters } from '../restrict.js'
import { versionOf } from './vread.js'
import { readRecord } from './read-record.js'

/** One record as it is stored, or the parts of it that are wanted. */
export async function fhirRead (door: Door, { type, id, shape }: FhirRead): Promise<FhirAnswer> {
  const query = encodeParameters(shapeParameters(plainShape(type, shape)))
  const answer = await ask(door, { method: 'GET', path: `${type}/${id}${query === '' ? '' : `?${query}`}` })
  return shownRecord(door, answer, readRecord(door, answer, { type, id }, checkedJsonOf))
}

/** One version of a record that still exists. */
export async function fhirVersionRead (door: Door, asked: VersionRead): Promise<FhirAnswer> {
  const { record, answer } = await versionOf(door, asked)
  return shownRecord(door, answer, record)
}

/** A record that was checked, in the datastore's own text. */
export function shownRecord (door: Door, answer: BackendAnswer, record: StoredResource, status: FhirAnswer['status'] = 200): FhirAnswer {
  return { status, record, body: publicText(door, answer) }
}

/** HAPI answers `_summary=text` with the body `null`, but returns the same elements by name. */
function plainShape (type: string, shape: Shape | undefined): Shape | undefined {
  return shape?.summary === 'text' && shape.elements === undefined ? { elements: elementsOfText(type).join(',') } : shape
}
