import { parseStored, printJson } from '../../json/json.js'
import { idsOf, JsonNodes, outermost } from '../../json/nodes/json-nodes.js'
import type { StoredResource } from '../../mappings/fhir.js'
import type { Mapping } from '../../mappings/core/mapping.js'
import type { TextPage } from '../../tenant-guard/guard.js'

const nodes = new JsonNodes()
const ids = idsOf('entry', 'resource')
const comma = Uint8Array.of(0x2c)
const openObject = 0x7b
const closeObject = Uint8Array.of(0x7d)

/** The list of a page's records in the simple form, as JSON. */
export function presentText (mapping: Mapping, { text, records }: TextPage): string {
  return printRecords(mapping, text, records.length) ?? printJson(recordsIn(text).map(mapping.present))
}

/** Undefined for a text whose values cannot be written as they stand. */
function printRecords ({ print }: Mapping, text: string, count: number): string | undefined {
  if (print === undefined || !nodes.open(text)) return undefined
  const list = nodes.find(outermost, ids.entry)
  let written = 0
  for (let entry = nodes.firstItem(list); entry !== 0; entry = nodes.nextItem(list, entry)) {
    const record = nodes.find(entry, ids.resource)
    if (record === 0) return undefined
    nodes.write(comma)
    const open = nodes.length
    print(nodes, record)
    nodes.replace(open, openObject)
    nodes.write(closeObject)
    written++
  }
  return written === count ? `[${nodes.text().slice(1)}]` : undefined
}

function recordsIn (text: string): StoredResource[] {
  const { entry } = parseStored(text) as { readonly entry: ReadonlyArray<{ readonly resource: StoredResource }> }
  return entry.map(({ resource }) => resource)
}
