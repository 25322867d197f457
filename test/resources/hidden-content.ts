import fc from 'fast-check'
import type { Test } from 'tap'
import type { FhirResource, StoredResource } from '../../src/mappings/fhir.js'
import { isElement } from '../../src/mappings/core/path.js'
import { findFaults } from '../laws/definitions.js'
import { anyR4Resource } from '../laws/r4-arbitrary.js'
import { findChange, applyMerge, type Bodies } from './bodies.js'
import { toComparable } from './comparable.js'
import type { TestContext } from './location.js'
import type { World } from './fixture.js'

/** Stored resources that each mapping is tried on, and the fields that are changed in each. */
const resourcesOfEach = 2
const changesOfEach = 2

/** A record that another system stored, with all that R4 has, preserves the parts that the simple form cannot show. */
export async function testHiddenContent (
  t: Test, bodies: Bodies, { client, server, world }: TestContext
): Promise<void> {
  const { mapping } = bodies
  let tried = 0
  for (const sample of fc.sample(anyR4Resource(mapping.type), { numRuns: 60, seed: 4 })) {
    if (tried === resourcesOfEach) break
    const resource = withOwnReferences(sample, world)
    const stored =
      findFaults(resource).length > 0 ? undefined : await server.store(client.tenantId, resource).catch(() => undefined)
    if (stored === undefined) continue
    await changeFields(t, { bodies, stored, from: tried * changesOfEach, server, client })
    tried++
  }
  t.equal(tried, resourcesOfEach, 'the server takes such resources')
}

interface ChangeContext extends Pick<TestContext, 'server' | 'client'> {
  readonly bodies: Bodies
  readonly stored: StoredResource
  readonly from: number
}

async function changeFields (t: Test, { bodies, stored, from, server, client }: ChangeContext): Promise<void> {
  const { mapping, names } = bodies
  let expected = stored
  for (const name of [...names.slice(from), ...names.slice(0, from)].slice(0, changesOfEach)) {
    const change = findChange(bodies, name, expected)
    if (change === undefined) continue
    const response = await client.send('PATCH', `${mapping.path}/${stored.id}`, change)
    t.equal(response.status, 200, `${Object.keys(change).join()} ${response.status === 200 ? '' : response.text}`)
    expected = applyMerge(mapping, expected, change)
  }
  const { meta, ...content } = await server.read(mapping.type, stored.id)
  const { meta: _, ...rest } = expected
  t.strictSame(toComparable(content), toComparable(rest))
}

/**
 * The resource with every reference replaced by one to a record of the tenant, as a server with referential integrity
 * needs it.
 */
function withOwnReferences ({ id, ...resource }: FhirResource, world: World): FhirResource {
  const inside = new Set(Array.isArray(resource.contained) ? resource.contained.map(({ id }) => `#${id}`) : [])
  const replaceReferences = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(replaceReferences)
    if (!isElement(value)) return value
    const { reference, ...others } = Object.fromEntries(
      Object.entries(value).map(([name, item]) => [name, replaceReferences(item)])
    )
    if (typeof reference !== 'string' || inside.has(reference)) {
      return { ...(reference !== undefined && { reference }), ...others }
    }
    const type = /^([A-Z][A-Za-z]+)\//.exec(reference)?.[1]
    return type === undefined ? { display: 'elsewhere', ...others } : { reference: world.recordOf([type]), ...others }
  }
  return replaceReferences(resource) as FhirResource
}
