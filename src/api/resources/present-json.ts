import { parseStored, printJson } from '../../json/json.js'
import { idsOf, JsonNodes, outermost } from '../../json/nodes/json-nodes.js'
import type { StoredResource } from '../../mappings/fhir.js'
import type { Mapping } from '../../mappings/core/mapping.js'
import { comma, printObject } from '../../mappings/core/print.js'
import type { JsonPage } from '../../tenant-guard/guard.js'

const nodes = new JsonNodes()
const ids = idsOf('entry', 'resource')
const emptyList = Buffer.from('[]')
const openList = 0x5b
const closeList = emptyList.subarray(1)

/** The list of a page's records in the simple form, as JSON in UTF-8. */
export function presentJson (mapping: Mapping, { json, records }: JsonPage): Buffer {
  return printRecords(mapping, json, records.length) ?? Buffer.from(printJson(recordsIn(json).map(mapping.present)))
}

/** Undefined for a page whose values cannot be written as they stand. */
function printRecords ({ print }: Mapping, json: Buffer, count: number): Buffer | undefined {
  if (print === undefined || !nodes.open(json)) return undefined
  const printRecord = printObject(print)
  const list = nodes.find(outermost, ids.entry)
  let written = 0
  for (let entry = nodes.firstItem(list); entry !== 0; entry = nodes.nextItem(list, entry)) {
    const record = nodes.find(entry, ids.resource)
    if (record === 0 || !printRecord(nodes, record, comma)) return undefined
    written++
  }
  if (written !== count) return undefined
  if (written === 0) return emptyList
  // In place of the first comma.
  nodes.replace(0, openList)
  nodes.write(closeList)
  return nodes.written()
}

function recordsIn (json: Buffer): StoredResource[] {
  const { entry } = parseStored(json.toString()) as {
    readonly entry: ReadonlyArray<{ readonly resource: StoredResource }>
  }
  return entry.map(({ resource }) => resource)
}
