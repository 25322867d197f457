import fc, { type Arbitrary } from 'fast-check'
import type { Test } from 'tap'
import { isNumber, mapJson, parseStored, printJson } from '../../src/json/json.js'
import type { FhirElement, FhirResource } from '../../src/mappings/fhir.js'
import { isElement } from '../../src/mappings/core/path.js'
import { findElementDefinitions } from '../../src/mappings/r4/elements.js'
import { isTenantType, resourceTypes } from '../../src/fhir/resource-types.js'
import { findStoredDifferences } from '../../src/tenant-guard/writes/stored-differences.js'
import { anyR4Resource } from '../laws/r4-arbitrary.js'
import { parseVersionedId, type Fhir, type World } from './fixture.js'

/** Types whose records a server takes for more than content, or of which the generator knows another version. */
const others = new Set([
  'Bundle',
  'Binary',
  'Parameters',
  'EvidenceVariable',
  'Subscription',
  'SearchParameter',
  'StructureDefinition',
  'CompartmentDefinition'
])

/**
 * What was sent is stored whole, or refused with its path: never dropped without a word. @param numRuns of each type
 * and kind
 */
export async function testLossless (t: Test, { fhir: join }: World, numRuns: number): Promise<void> {
  const types = [...resourceTypes].filter(
    type => isTenantType(type) && findElementDefinitions(type)!.has('text') && !others.has(type)
  )
  await t.test('a generated resource of R4 comes back as it was sent, or is refused with its path', async t => {
    const fhir = await join()
    const made = await countStored(
      t,
      fhir,
      types.flatMap(type => fc.sample(storableResource(type), { numRuns, seed: 7 }))
    )
    t.ok(made > types.length, `${made} were stored`)
  })
  await t.test(
    'so does one with something empty, an id or extensions of a primitive, or a part left out anywhere',
    async t => {
      const fhir = await join()
      await countStored(
        t,
        fhir,
        types.flatMap(type => fc.sample(storableResource(type).chain(damagedResource), { numRuns, seed: 8 }))
      )
    }
  )
}

async function countStored (t: Test, fhir: Fhir, resources: readonly FhirResource[]): Promise<number> {
  let stored = 0
  const lost: Array<{ what?: string, [detail: string]: unknown }> = []
  for (const sent of resources) {
    const { status, headers, resource, text } = await fhir.send('POST', `/${sent.resourceType}`, sent)
    if (status === 201) {
      stored++
      const read = await fhir.send('GET', `/${sent.resourceType}/${parseVersionedId(headers.location!)}`)
      for (const [when, found] of [
        ['written', resource],
        ['read', read.resource]
      ]) {
        const differences = findStoredDifferences(sent, found)
        if (differences.length === 0) continue
        const what = differences.every(path => isNumber(getValueAt(sent, path))) ? 'only numbers' : 'more than numbers'
        lost.push({ when, what, differences, sent: printJson(sent) })
      }
    } else if (
      status !== 422 ||
      !resource.issue.every(({ expression }: any) => expression?.[0]?.startsWith(sent.resourceType))
    ) {
      lost.push({ status, text, type: sent.resourceType, sent: printJson(sent) })
    }
  }
  // The worst first: a known difference of a server hides no other.
  lost.sort((a, b) => Number(a.what === 'only numbers') - Number(b.what === 'only numbers'))
  t.strictSame(lost.slice(0, 5), [], `${lost.length} of ${resources.length}`)
  return stored
}

/** The value at a path such as `Patient.name[0].given`. */
function getValueAt (resource: unknown, path: string): unknown {
  return path.split(/[.[\]]+/).slice(1).filter(Boolean).reduce((value: any, step) => value?.[step], resource)
}

/** A generated resource that refers to no other record: those would have to be there. */
function storableResource (type: string): Arbitrary<FhirResource> {
  return anyR4Resource(type).map(
    ({ id: _, meta: __, ...resource }) =>
      mapJson(resource, item =>
        isElement(item) && item.resourceType === undefined && isOutward(item.reference)
          ? { display: 'elsewhere' }
          : item
      ) as FhirResource
  )
}

const isOutward = (reference: unknown): boolean => typeof reference === 'string' && !reference.startsWith('#')

/** What stands for nothing, or for something of which datastores drop a part. */
const strays: readonly unknown[] = [
  '',
  ' ',
  '\u2003',
  null,
  {},
  [],
  [null],
  [{}],
  { id: 'x' },
  [null, { id: 'x' }],
  [{ extension: [{ url: 'http://example.org/x', valueString: 'v' }] }],
  { extension: [{ url: 'http://example.org/x' }] }
]

/** The resource with one member, anywhere in it, replaced, removed or given extras. */
function damagedResource (resource: FhirResource): Arbitrary<FhirResource> {
  const memberCount = countMembers(resource)
  return fc
    .tuple(fc.nat(memberCount - 1), fc.constantFrom('replace', 'extras', 'remove'), fc.constantFrom(...strays))
    .map(([at, method, stray]) => {
      const copy = parseStored(printJson(resource)) as FhirResource
      applyDamage(copy as unknown as Record<string, unknown>, { left: at, method, stray })
      return copy
    })
}

function countMembers (value: unknown): number {
  if (Array.isArray(value)) return value.reduce<number>((sum, item) => sum + countMembers(item), 0)
  if (!isElement(value)) return 0
  return Object.entries(value).reduce(
    (sum, [name, item]) => sum + Number(name !== 'resourceType') + countMembers(item),
    0
  )
}

function applyDamage (
  value: unknown, change: { left: number, readonly method: string, readonly stray: unknown }
): void {
  if (Array.isArray(value)) return value.forEach(item => applyDamage(item, change))
  if (!isElement(value)) return
  const holder = value as Record<string, unknown>
  for (const [name, item] of Object.entries(value as FhirElement)) {
    if (name === 'resourceType') continue
    if (change.left-- === 0) {
      if (change.method === 'remove') delete holder[name]
      else holder[change.method === 'extras' ? `_${name}` : name] = change.stray
      return
    }
    applyDamage(item, change)
  }
}
