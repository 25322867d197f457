import type { ExportRequest } from '../model/job.js'
import { printJson } from '../../json/json.js'
import type { FhirElement, StoredResource } from '../../mappings/fhir.js'
import type { Mapping } from '../../mappings/core/mapping.js'
import type { Line } from '../../tenant-guard/export/position.js'
import { subsetOf } from '../../mappings/r4/subset.js'

/** Formats a line of one type. */
type LineForm = (line: Line) => string

/** Returns the format of each type's lines: the stored resource, a subset of its elements, or the simple form. */
export function lineFormats (
  { format, elements = [] }: Pick<ExportRequest, 'format' | 'elements'>,
  mappings: readonly Mapping[]
): (type: string) => LineForm {
  const forms = new Map<string, LineForm>()
  return type => {
    const form = forms.get(type) ?? (format === 'simple' ? simple(type, mappings) : fhir(type, elements))
    forms.set(type, form)
    return form
  }
}

function simple (type: string, mappings: readonly Mapping[]): LineForm {
  const mapping = mappings.find(candidate => candidate.type === type)
  if (mapping === undefined) throw new Error('this type has no simple form')
  return ({ exact }) => printJson(mapping.present(exact() as StoredResource))
}

function fhir (type: string, elements: readonly string[]): LineForm {
  const subset = subsetOf(type, elements)
  return subset === undefined ? ({ text }) => text : ({ exact }) => printJson(subset(exact() as FhirElement))
}
