import { parseStored, printJson } from '../../json/json.js'
import { idsOf, JsonNodes, outermost } from '../../json/nodes/json-nodes.js'
import type { StoredResource } from '../../mappings/fhir.js'
import type { Mapping } from '../../mappings/core/mapping.js'
import { comma, printObject } from '../../mappings/core/print.js'
import type { TextPage } from '../../tenant-guard/guard.js'

const nodes = new JsonNodes()
const ids = idsOf('entry', 'resource')

/** The list of a page's records in the simple form, as JSON. */
export function presentText (mapping: Mapping, { text, records }: TextPage): string {
  return printRecords(mapping, text, records.length) ?? printJson(recordsIn(text).map(mapping.present))
}

/** Undefined for a text whose values cannot be written as they stand. */
function printRecords ({ print }: Mapping, text: string, count: number): string | undefined {
  if (print === undefined || !nodes.open(text)) return undefined
  const printRecord = printObject(print)
  const list = nodes.find(outermost, ids.entry)
  let written = 0
  for (let entry = nodes.firstItem(list); entry !== 0; entry = nodes.nextItem(list, entry)) {
    const record = nodes.find(entry, ids.resource)
    if (record === 0 || !printRecord(nodes, record, comma)) return undefined
    written++
  }
  return written === count ? `[${nodes.text().slice(1)}]` : undefined
}

function recordsIn (text: string): StoredResource[] {
  const { entry } = parseStored(text) as { readonly entry: ReadonlyArray<{ readonly resource: StoredResource }> }
  return entry.map(({ resource }) => resource)
}
