/**
 * The text that a mapping writes from the text of a record equals, byte for byte, the printed simple record.
 * `LAWS_RUNS=2000 LAWS_SEED=$RANDOM node test/run.js test/mappings/printed.test.ts` runs longer and with another seed.
 */
import fc from 'fast-check'
import t from 'tap'
import { parseStored, printJson } from '../../src/json/json.js'
import { JsonNodes, outermost } from '../../src/json/nodes/json-nodes.js'
import type { FhirResource, StoredResource } from '../../src/mappings/fhir.js'
import type { Mapping } from '../../src/mappings/core/mapping.js'
import { mappings } from '../../src/mappings/registry.js'
import { anySimple } from '../laws/arbitrary.js'
import { replacements, withReplacements } from '../laws/hostile-values.js'
import { anyR4Resource } from '../laws/r4-arbitrary.js'

const numRuns = Number(process.env.LAWS_RUNS ?? 40)
const parameters = { numRuns, seed: Number(process.env.LAWS_SEED ?? 4), includeErrorInReport: true }

const nodes = new JsonNodes()

/** Prints the simple record of a text; undefined if the text is not accepted. */
function tryPrint (mapping: Mapping, text: string): string | undefined {
  if (!nodes.open(Buffer.from(text))) return undefined
  mapping.print!(nodes, outermost)
  return `{${nodes.takeOutput().toString().slice(1)}}`
}

const printPresented = (mapping: Mapping, text: string): string =>
  printJson(mapping.present(parseStored(text) as StoredResource))

const metas = fc.constantFrom(
  { versionId: '1', lastUpdated: '2026-01-01T00:00:00Z' },
  { versionId: '7', lastUpdated: '2026-01-01T00:00:00Z' },
  {
    versionId: '7',
    lastUpdated: '2026-01-02T00:00:00Z',
    extension: [{ url: 'urn:clinigate:created', valueInstant: '2026-01-01T00:00:00Z' }]
  },
  { versionId: '1' }, { lastUpdated: '2026-01-01T00:00:00Z' }, {}, { versionId: 1, lastUpdated: null },
  { versionId: '\u00e9"', lastUpdated: '', extension: [] }
)

/** A resource's text: unchanged, with spaces, with escapes in its texts, or with members twice. */
const asText = fc.constantFrom<(value: unknown) => string>(
  printJson,
value => JSON.stringify(JSON.parse(printJson(value)), undefined, 2),
value => printJson(value).replaceAll('/', '\\/'),
value => printJson(value).replace(/(?<=: ?"[^"\\]*)[a-e](?=[^"\\]*"[,}\]])/g,
  char => `\\u00${char.charCodeAt(0).toString(16)}`),
value => printJson(value).replace(/("(\w+)":(?:"[^"\\]*"|true|\d+))(?=[,}])/g, '"$2":null,$1,"unknown":1'),
value => printJson(value).replace(/(\d)(?=[,}\]])/g, '$1.10e0')
)

const anyResourceText = ({ type }: Mapping) => fc.tuple(anyR4Resource(type), metas, fc.option(replacements), asText)
  .map(([resource, meta, replaced, asText]) => {
    const changed = replaced === null ? resource : withReplacements(resource, replaced, () => true) as FhirResource
    return asText({ ...changed, id: 'an-id', meta, resourceType: type })
  })

for (const mapping of mappings.filter(({ print }) => print !== undefined)) {
  t.test(`${mapping.path}: resources are printed the same as they are parsed and mapped`, async t => {
    let taken = 0
    fc.assert(fc.property(anyResourceText(mapping), text => {
      const written = tryPrint(mapping, text)
      if (written === undefined) return
      taken++
      if (written !== printPresented(mapping, text)) throw new Error(`${written}\n${printPresented(mapping, text)}\n${text}`)
    }), parameters)
    t.ok(taken > numRuns / 2, `${taken} of ${numRuns} were taken`)
    fc.assert(fc.property(anySimple(mapping), metas, (simple, meta) => {
      const text = printJson({ ...mapping.toFhir(simple), id: 'an-id', meta })
      if (tryPrint(mapping, text) !== printPresented(mapping, text)) throw new Error(text)
    }), parameters)
  })
}
