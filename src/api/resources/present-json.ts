import { parseStored, printJson } from '../../json/json.js'
import { getNameIds, JsonNodes, outermost } from '../../json/nodes/json-nodes.js'
import type { StoredResource } from '../../mappings/fhir.js'
import type { Issue } from '../../envelope/failures.js'
import type { Mapping } from '../../mappings/core/mapping.js'
import { mayNeedWarning, listMeaningWarnings } from '../../mappings/core/meaning.js'
import { printItems, printObject, type Print } from '../../mappings/core/print.js'
import type { JsonPage, Page } from '../../tenant-guard/guard.js'

const nodes = new JsonNodes()
const ids = getNameIds('entry', 'resource')
const emptyList = Buffer.from('[]')
const noPrefix = new Uint8Array()

/** The list of a page's records in the simple form, as JSON in UTF-8. */
export function presentJson (mapping: Mapping, { json, records }: JsonPage): Buffer {
  return printRecords(mapping, json, records.length) ?? Buffer.from(printJson(parseRecords(json).map(mapping.present)))
}

/** A page has at most 100 records, each with a few places. */
const maxPageWarnings = 1_000

/** Warnings of what changes the meaning of records and is not shown; most pages have none and need not be parsed. */
export function buildPageWarnings (page: Page | JsonPage): Issue[] {
  if ('json' in page && !mayNeedWarning(page.json)) return []
  const records = 'json' in page ? parseRecords(page.json) : page.resources
  return records.flatMap((record, at) => listMeaningWarnings(record, `data[${at}]`)).slice(0, maxPageWarnings)
}

/** Undefined for a page whose values cannot be written as they stand. */
function printRecords ({ print }: Mapping, json: Buffer, count: number): Buffer | undefined {
  if (print === undefined || !nodes.open(json)) return undefined
  const printRecord = printObject(print)
  let writtenCount = 0
  const printItem: Print = (nodes, entry, prefix) => {
    const record = nodes.find(entry, ids.resource)
    const isWritten = record !== 0 && printRecord(nodes, record, prefix)
    if (isWritten) writtenCount++
    return isWritten
  }
  const list = nodes.find(outermost, ids.entry)
  const hasItems = printItems(nodes, { list, from: nodes.firstItem(list) }, { item: printItem, prefix: noPrefix })
  if (writtenCount !== count) return undefined
  return hasItems ? nodes.takeOutput() : emptyList
}

function parseRecords (json: Buffer): StoredResource[] {
  const { entry } = parseStored(json.toString()) as {
    readonly entry: ReadonlyArray<{ readonly resource: StoredResource }>
  }
  return entry.map(({ resource }) => resource)
}
