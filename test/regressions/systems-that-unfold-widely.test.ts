import t, { type Test } from 'tap'
import type { FhirResource } from '../../src/mappings/fhir.js'
import { isTenantSystem } from '../../src/tenant-guard/tenant.js'
import { tagForTenant } from '../../src/tenant-guard/writes/stamp.js'

const tenant = { id: 'tenant-a', system: 'urn:clinigate:tenant' }

/** Counts the characters that are normalized until the test ends. */
function normalizedIn (test: Test): () => number {
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

// U+FDFA becomes eighteen characters: a body of 16 MiB with tags of it kept the gateway busy for 2 s.
t.test('each character of the systems of tags is normalized once', async t => {
  const tag = Array.from({ length: 100 }, (_, at) => ({ system: '\ufdfa\ufdfb'.repeat(5_000) + at, code: 'x' }))
  const normalized = normalizedIn(t)
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
