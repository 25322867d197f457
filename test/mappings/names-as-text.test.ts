/** Systems that do not know the parts of a name store it as one text: http://hl7.org/fhir/R4/datatypes.html#HumanName */
import t from 'tap'
import type { FhirElement } from '../../src/mappings/fhir.js'
import { listLostPaths } from '../../src/mappings/core/losses.js'
import type { Mapping } from '../../src/mappings/core/mapping.js'
import { listMeaningWarnings, mayNeedWarning } from '../../src/mappings/core/meaning.js'
import { mappings } from '../../src/mappings/registry.js'
import { presentJson } from '../../src/api/resources/present-json.js'
import type { JsonPage } from '../../src/tenant-guard/guard.js'
import { isPrimitive, listParts, type Part } from '../laws/definitions.js'

const maxDepth = 3
const text = 'Dr. Grace Hopper'
const parts = { family: 'Hopper', given: ['Grace'] }

/** Each place of a type where R4 has a HumanName. */
function findNames (path: string, above: readonly Part[] = []): Array<readonly Part[]> {
  return listParts(path).flatMap(part => part.types.flatMap(({ code }) => {
    const here = [...above, part]
    if (code === 'HumanName') return [here]
    const isOpen = !isPrimitive(code) && code !== 'Extension' && code !== 'Reference' && here.length < maxDepth
    return isOpen ? findNames(code, here) : []
  }))
}

const buildRecord = ({ type }: Mapping, place: readonly Part[], name: FhirElement): FhirElement => ({
  resourceType: type,
  ...place.toReversed().reduce<FhirElement>(
    (inner, { name, many }) => ({ [name]: many ? [inner] : inner }), name
  )
})

const isShown = (mapping: Mapping, record: FhirElement, word: string): boolean =>
  JSON.stringify(mapping.toSimple(record)).includes(word)

const shown = mappings.flatMap(mapping => findNames(mapping.type)
  .filter(place => isShown(mapping, buildRecord(mapping, place, parts), parts.family))
  .map(place => ({ mapping, place, path: place.map(({ name }) => name).join('.') })))

t.strictSame(
  shown.map(({ mapping, path }) => `${mapping.path} ${path}`).sort(),
  ['organizations contact.name', 'patients contact.name', 'patients name', 'persons name', 'practitioners name']
)

for (const { mapping, place, path } of shown) {
  t.test(`a name in ${path} of ${mapping.path} that is stored as one text is shown, or a warning says where it is`, async t => {
    for (const name of [{ text }, { use: 'usual', text }, { text, period: { start: '2020' } }, { extension: [{ url: 'http://a/b' }], text }]) {
      const record = buildRecord(mapping, place, name)
      const warnings = listMeaningWarnings(record)
      if (!isShown(mapping, record, text)) {
        t.match(warnings, [{ severity: 'warning', expression: [`${mapping.type}.contact[0].name.text`] }])
        for (const space of [0, 2]) t.ok(mayNeedWarning(Buffer.from(JSON.stringify(record, null, space))), 'a page has the warning too')
      } else {
        t.strictSame(warnings, [])
        const stored = { ...record, id: '1', meta: { versionId: '1', lastUpdated: '2026-03-14T09:30:00Z' } }
        const json = Buffer.from(JSON.stringify({ entry: [{ resource: stored }] }))
        t.match(presentJson(mapping, { json, records: [stored] } as unknown as JsonPage).toString(), text, 'and in a page')
      }
      const [first] = Object.keys(mapping.fields).filter(field => ['gender', 'type'].includes(field))
      const change = { [first!]: first === 'gender' ? 'other' : ['team'] }
      t.match(mapping.patch(record, change), record, 'a change of something else leaves it')
    }
  })

  t.test(`a name in ${path} of ${mapping.path} that is stored in parts needs no warning`, async t => {
    for (const name of [parts, { use: 'usual', ...parts }, { text, ...parts }, { ...parts, text }]) {
      t.strictSame(listMeaningWarnings(buildRecord(mapping, place, name)), [])
    }
    t.notOk(mayNeedWarning(Buffer.from(JSON.stringify(buildRecord(mapping, place, { use: 'usual', ...parts })))))
  })
}

for (const { mapping } of shown.filter(({ path }) => path === 'name')) {
  t.test(`a part of a name of ${mapping.path} takes the place of the text, with a warning where the text is all there is`, async t => {
    for (const [name, lost] of [[{ text }, ['name.text']], [{ ...parts, text }, []]] as const) {
      const before = { resourceType: mapping.type, name: [name] }
      const after = mapping.patch(before, { lastName: 'Murray' })
      t.strictSame(after.name, [{ ...('given' in name && { given: parts.given }), family: 'Murray' }])
      t.strictSame(listLostPaths(mapping, before, after), lost)
    }
  })
}
