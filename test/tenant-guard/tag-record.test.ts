import { deepStrictEqual as deepEqual, equal } from 'node:assert'
import fc from 'fast-check'
import t from 'tap'
import { ExactNumber, printJson } from '../../src/json/json.js'
import type { FhirResource } from '../../src/mappings/fhir.js'
import { tagForTenant } from '../../src/tenant-guard/writes/tag-record.js'

const tenant = { id: 'tenant-a', system: 'urn:clinigate:tenant' }
const own = { system: tenant.system, code: tenant.id }
const foreign = { system: tenant.system, code: 'tenant-b' }

function tagMeta (meta: unknown): unknown {
  return tagForTenant({ resourceType: 'Patient', meta } as FhirResource, tenant).meta
}

t.test('a resource gets the tenant\'s tag and keeps its others', async t => {
  t.strictSame(tagForTenant({ resourceType: 'Patient', active: true }, tenant), {
    resourceType: 'Patient',
    meta: { tag: [own] },
    active: true
  })
  const ward = { system: 'http://hospital.example/ward', code: '3' }
  t.strictSame(tagMeta({ profile: ['http://x'], tag: [ward, foreign] }), {
    profile: ['http://x'],
    tag: [ward, own]
  })
})

t.test('no spelling of the tenant system survives', async t => {
  const spellings = [
    tenant.system,
    ' urn:clinigate:tenant',
    'urn:clinigate:tenant\t',
    'URN:Clinigate:TENANT',
    'urn:clinigate:tenant\u00a0',
    '\ufeffurn:clinigate:tenant',
    'urn:clini\u200bgate:tenant',
    'urn:clinigate\uff1atenant',
    'urn:clinig\u00e1te:tenant',
    '\uff55rn:clinigate:tenant'
  ]
  for (const system of spellings) {
    for (const extra of [{}, { version: '1' }, { userSelected: true }, { display: 'x' }]) {
      t.strictSame(
        tagMeta({ tag: [{ system, code: 'tenant-b', ...extra }], security: [{ system, code: 'tenant-b' }] }),
        { tag: [own] },
        JSON.stringify(system)
      )
    }
  }
})

t.test('what the datastore decides about a record is not sent', async t => {
  const meta = {
    versionId: '7',
    _versionId: {},
    lastUpdated: '2020-01-01T00:00:00Z',
    _lastUpdated: {},
    source: 'http://evil',
    _source: {},
    profile: ['http://x']
  }
  t.strictSame(tagMeta(meta), { profile: ['http://x'], tag: [own] })
})

t.test('contained resources and resources held in a bundle carry no tag of any tenant', async t => {
  const inner = { resourceType: 'Patient', id: 'p', meta: { tag: [foreign], profile: ['http://x'] } }
  const clean = { resourceType: 'Patient', id: 'p', meta: { profile: ['http://x'] } }
  t.strictSame(
    tagForTenant(
      {
        resourceType: 'Observation',
        status: 'final',
        code: { text: 'x' },
        subject: { reference: '#p' },
        contained: [inner]
      },
      tenant
    ).contained,
    [clean]
  )
  const link = [{ other: { reference: '#p' }, type: 'seealso' }]
  t.strictSame(
    tagForTenant(
      { resourceType: 'Bundle', type: 'collection', entry: [{ resource: { ...inner, link, contained: [inner] } }] },
      tenant
    ).entry,
    [{ resource: { ...clean, link, contained: [clean] } }]
  )
})

t.test('a meta that a lenient server could read in two ways is refused', async t => {
  const unclear = [
    [{ tag: [foreign] }],
    'x',
    5,
    true,
    { tag: foreign },
    { tag: 'x' },
    { tag: [[foreign]] },
    { tag: ['x'] },
    { tag: [null] },
    { tag: [{ system: [tenant.system], code: 'tenant-b' }] },
    { tag: [{ system: { x: 1 }, code: 'tenant-b' }] },
    { tag: null },
    { _tag: [foreign] },
    { security: foreign },
    { _security: [] }
  ]
  for (const meta of unclear) {
    t.throws(() => tagMeta(meta), { code: 'VALIDATION_ERROR' }, JSON.stringify(meta))
    t.throws(
      () => tagForTenant({ resourceType: 'Observation', contained: [{ resourceType: 'Patient', meta }] }, tenant),
      { code: 'VALIDATION_ERROR' },
      JSON.stringify(meta)
    )
  }
})

t.test('an extension of the datastore\'s own is refused wherever it is', async t => {
  const extension = (url: string) => [{ url, valueString: 'x' }]
  const urls = [
    'http://hapifhir.io/fhir/StructureDefinition/externalized-binary-id',
    'https://hapifhir.io/fhir/ns/StructureDefinition/request-partition-ids',
    'HTTPS://smilecdr.com/x',
    ' http://hapifhir.io/x'
  ]
  for (const url of urls) {
    const variants = [
      { extension: extension(url) },
      { _language: { extension: extension(url) } },
      { meta: { extension: extension(url) } },
      { contained: [{ resourceType: 'Basic', meta: { extension: extension(url) } }] },
      { meta: { tag: [{ system: 'urn:x', code: 'y', extension: extension(url) }] } }
    ]
    for (const elements of variants) {
      t.throws(
        () => tagForTenant({ resourceType: 'Basic', ...elements } as FhirResource, tenant),
        { code: 'VALIDATION_ERROR' },
        JSON.stringify(elements)
      )
    }
  }
  t.strictSame(
    tagForTenant(
      { resourceType: 'Basic', code: { text: 'x' }, extension: extension('http://nothapifhir.io/x') },
      tenant
    ).extension,
    extension('http://nothapifhir.io/x')
  )
})

const spelledSystem = fc.constantFrom(tenant.system, 'URN:clinigate:tenant', 'http://other', 'urn:x')
const anySystem = fc.oneof(spelledSystem, fc.constantFrom(' URN:clinigate:tenant ', ''))
const anyCode = fc.constantFrom('tenant-a', 'tenant-b', '1')
const anyLabels = (system: fc.Arbitrary<string>) =>
  fc.array(fc.record({ system, code: anyCode }, { noNullPrototype: true }), { minLength: 1 })
const profile = fc.array(fc.constantFrom('http://x', 'urn:y'), { minLength: 1 })
const anyMeta = fc.record(
  { tag: anyLabels(anySystem), security: anyLabels(spelledSystem), profile },
  { requiredKeys: [], noNullPrototype: true }
)
const innerMeta = fc.record(
  { tag: anyLabels(spelledSystem), security: anyLabels(spelledSystem), profile },
  { requiredKeys: ['profile'], noNullPrototype: true }
)
const containedMeta = fc.record(
  { tag: anyLabels(spelledSystem), profile },
  { requiredKeys: ['profile'], noNullPrototype: true }
)
const url = fc.constantFrom('http://x', 'y')
const anyExtension = fc.oneof(
  fc.record({ url, valueString: fc.constantFrom('x', tenant.system) }, { noNullPrototype: true }),
  fc.record(
    { url, valueDecimal: fc.integer().map(number => new ExactNumber(`${number}.10`)) },
    { noNullPrototype: true }
  )
)
const buildElements = (meta: fc.Arbitrary<object>) => ({
  meta,
  extension: fc.array(anyExtension, { minLength: 1, maxLength: 3 }),
  language: fc.constantFrom('de', 'en-GB')
})
const contained = fc
  .array(fc.record({ meta: containedMeta, name: fc.constantFrom('x', tenant.system) }, { noNullPrototype: true }), {
    minLength: 1,
    maxLength: 2
  })
  .map(items =>
    items.map((item, at) => ({ resourceType: 'Organization', id: `o${at}`, ...item, partOf: { reference: '#' } }))
  )
const inner = fc.oneof(
  fc.record(
    { resourceType: fc.constant('Basic'), code: fc.constant({ text: 'x' }), ...buildElements(innerMeta) },
    { requiredKeys: ['resourceType', 'code'], noNullPrototype: true }
  ),
  fc.record(
    { resourceType: fc.constant('Patient'), ...buildElements(innerMeta), contained },
    { requiredKeys: ['resourceType'], noNullPrototype: true }
  )
)
const anyResource = fc.oneof(
  fc.record(
    { resourceType: fc.constant('Patient'), ...buildElements(anyMeta), contained },
    { requiredKeys: ['resourceType'], noNullPrototype: true }
  ),
  fc.record(
    {
      resourceType: fc.constant('Bundle'),
      type: fc.constant('collection'),
      meta: anyMeta,
      entry: fc.array(fc.record({ fullUrl: fc.constantFrom('urn:x:1', 'urn:y'), resource: inner }, { noNullPrototype: true }), {
        minLength: 1,
        maxLength: 2
      })
    },
    { requiredKeys: ['resourceType', 'type'], noNullPrototype: true }
  )
)

function isTenantTag (value: unknown): boolean {
  const { system } = (value ?? {}) as { system?: unknown }
  return typeof system === 'string' && system.trim().toLowerCase() === tenant.system
}

function findTenantTags (value: unknown): unknown[] {
  if (value === null || typeof value !== 'object') return []
  return isTenantTag(value) ? [value] : Object.values(value).flatMap(findTenantTags)
}

function withoutTenantTags (value: unknown): unknown {
  if (value instanceof ExactNumber) return value
  if (Array.isArray(value)) return value.filter(item => !isTenantTag(item)).map(withoutTenantTags)
  if (value === null || typeof value !== 'object') return value
  const entries = Object.entries(value).map(([key, item]) => [key, withoutTenantTags(item)] as const)
  return Object.fromEntries(
    entries.filter(([key, item]) => !(['tag', 'security'].includes(key) && (item as unknown[]).length === 0))
  )
}

/** The part of a resource's own meta that can be stored: HAPI takes a tag without a system for another one. */
function toStorableMeta ({ tag, ...meta }: { tag?: ReadonlyArray<{ system?: string }> } = {}): unknown {
  return { ...meta, ...tag && { tag: tag.filter(({ system = '' }) => system.trim() !== '') } }
}

t.test('a tag without a system is left out, since HAPI takes it for any tag with the same code', async t => {
  const code = 'tenant-b'
  t.strictSame(tagMeta({ tag: [{ code }, { system: '', code }, { system: ' ', code }, { _system: {}, code }] }), {
    tag: [own]
  })
})

t.test('a security label without a system is refused, since HAPI takes it for any with the same code', async t => {
  for (const label of [{ code: 'R' }, { system: '', code: 'R' }, { system: ' ', code: 'R' }, { display: 'x' }]) {
    t.throws(() => tagMeta({ security: [label] }), { code: 'VALIDATION_ERROR' })
  }
  t.strictSame(tagMeta({ security: [{ system: 'urn:x', code: 'R' }] }), {
    security: [{ system: 'urn:x', code: 'R' }],
    tag: [own]
  })
})

t.test(
  'of a tag and a label the system and code are stored, since HAPI shows the rest to all who use the code',
  async t => {
    const bare = { system: 'urn:x', code: 'R' }
    const wordy = {
      ...bare,
      display: 'x',
      version: '1',
      userSelected: true,
      _display: {},
      _version: {},
      _userSelected: {}
    }
    t.strictSame(tagMeta({ tag: [wordy], security: [wordy] }), { security: [bare], tag: [bare, own] })
    const idempotencyTag = { system: `${tenant.system}:idempotency`, code: 'x' }
    t.strictSame(
      tagMeta({ tag: [{ ...idempotencyTag, display: '2026-03-14T09:30:00.000Z' }] }),
      { tag: [{ ...idempotencyTag, display: '2026-03-14T09:30:00.000Z' }, own] },
      'the time of a mark stays'
    )
    t.strictSame(tagMeta({ tag: [{ ...idempotencyTag, display: 'anything' }] }), { tag: [idempotencyTag, own] })
  }
)

t.test('of every resource: exactly one tenant tag comes out, the own one, and nothing else is changed', async () => {
  fc.assert(fc.property(anyResource, resource => {
    const before = printJson(resource)
    const after = tagForTenant(resource as FhirResource, tenant)
    equal(printJson(resource), before, 'the argument is left alone')
    deepEqual(findTenantTags(after), [own])
    deepEqual(tagForTenant(after, tenant), after, 'twice is as good as once')
    deepEqual(withoutTenantTags(after), withoutTenantTags({ ...resource, meta: toStorableMeta(resource.meta) }))
  }), { numRuns: 300 })
})
