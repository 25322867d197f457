import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import t, { type Test } from 'tap'
import { splitUnescaped } from '../../src/fhir/search-escaping.js'
import type { FhirResource } from '../../src/mappings/fhir.js'
import { isTenantSystem } from '../../src/tenant-guard/tenant.js'
import { tagForTenant } from '../../src/tenant-guard/writes/tag-record.js'

const tenant = { id: 'tenant-a', system: 'urn:clinigate:tenant' }

/** Counts the characters that are normalized until the test ends. */
function countNormalized (test: Test): () => number {
  const { normalize } = String.prototype
  let characters = 0
  test.intercept(String.prototype, 'normalize', {
    value (this: string, form?: string) {
      characters += this.length
      return normalize.call(this, form)
    }
  })
  return () => characters
}

// U+FDFA becomes eighteen characters: a body of 16 MiB with tags of it occupied the gateway for 2 s.
t.test('each character of the systems of tags is normalized once', async t => {
  const tag = Array.from({ length: 100 }, (_, at) => ({ system: '\ufdfa\ufdfb'.repeat(5_000) + at, code: 'x' }))
  const normalized = countNormalized(t)
  const stamped = tagForTenant({ resourceType: 'Patient', meta: { tag, security: tag } } as FhirResource, tenant)
  t.equal(stamped.meta?.tag?.length, 101)
  t.notOk(isTenantSystem('\ufdfa'.repeat(1_000_000), tenant))
  t.ok(normalized() < 200, `${normalized()} characters`)
})

t.test('characters that unfold widely hide no spelling of the tenant system', async t => {
  for (const many of ['\ufdfa'.repeat(50_000), '\u0301'.repeat(50_000), '\ud800'.repeat(1_000)]) {
    t.ok(isTenantSystem(many + tenant.system, tenant))
    t.ok(isTenantSystem([...tenant.system].join(many.slice(0, 500)), tenant))
    t.ok(isTenantSystem(tenant.system.replace('u', '\uff35') + many, tenant))
    t.notOk(isTenantSystem(`${tenant.system}${many}x`, tenant))
    t.notOk(isTenantSystem(`${many}${tenant.system.slice(1)}`, tenant))
  }
})

// The last thousand systems of tags were cached whatever their length: a few bodies of 15 MB took the memory of the
// process for good.
t.test('long systems of tags are not cached', async t => {
  setFlagsFromString('--expose-gc')
  const gc = runInNewContext('gc') as () => void
  const measureHeapMegabytes = () => {
    gc()
    return process.memoryUsage().heapUsed / 2 ** 20
  }
  const before = measureHeapMegabytes()
  for (let i = 0; i < 30; i++) {
    const system = Buffer.alloc(4 * 2 ** 20, `x${i}`).toString()
    const stamped = tagForTenant(
      { resourceType: 'Patient', meta: { tag: [{ system, code: 'x' }] } } as FhirResource,
      tenant
    )
    t.equal(stamped.meta?.tag?.length, 2)
  }
  t.ok(measureHeapMegabytes() - before < 60, 'of 120 MB')
})

t.test('a long spelling of the tenant system is one of its spellings', async t => {
  const wide = [...tenant.system]
    .map(letter => (/[a-z]/.test(letter) ? String.fromCodePoint(0x1d41a + letter.charCodeAt(0) - 97) : letter))
    .join('')
  for (let shift = 0; shift < 4; shift++) {
    for (const [spelling, expected] of [
      [tenant.system, true],
      [wide, true],
      [`${wide}\ud835`, true],
      [`${wide}s`, false],
      [wide.slice(2), false]
    ] as const) {
      const invisible = '\u200b'.repeat(190 + shift)
      t.equal(isTenantSystem(invisible + spelling, tenant), expected, `${shift} ${expected}`)
      t.equal(isTenantSystem(spelling + invisible + invisible, tenant), expected, `${shift} ${expected}, before`)
      t.equal(isTenantSystem([...spelling].join(invisible), tenant), expected, `${shift} ${expected}, between`)
    }
  }
})

setFlagsFromString('--expose-gc')
const gc = runInNewContext('gc') as () => void
const measureHeapMegabytes = () => {
  gc()
  return process.memoryUsage().heapUsed / 2 ** 20
}

// Put together character by character, a value of 16 MiB in a form took half a gigabyte and stopped the gateway for
// four seconds.
t.test('a long value of a search is split without work or memory for each of its characters', async t => {
  const text = Buffer.alloc(8 * 2 ** 20, 'x').toString()
  const before = measureHeapMegabytes()
  const parts = splitUnescaped(text, ',')
  t.ok(measureHeapMegabytes() - before < 20, 'of the 8 MiB of the text itself')
  t.ok(parts.length === 1 && parts[0] === text)
})

t.test('values are split at separators that no backslash precedes', async t => {
  for (const [text, ...parts] of [
    ['', ''],
    [',', '', ''],
    ['a,b', 'a', 'b'],
    ['a\\,b,c', 'a\\,b', 'c'],
    ['a\\\\,b', 'a\\\\', 'b'],
    ['a,b\\', 'a', 'b\\'],
    ['\\,', '\\,'],
    [',\n,\u{1f600},', '', '\n', '\u{1f600}', '']
  ] as Array<[string, ...string[]]>) { t.same(splitUnescaped(text, ','), parts, JSON.stringify(text)) }
})
