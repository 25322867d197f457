import { runInNewContext } from 'node:vm'
import { setFlagsFromString } from 'node:v8'
import t from 'tap'
import type { FhirResource } from '../../src/mappings/fhir.js'
import { isTenantSystem } from '../../src/tenant-guard/tenant.js'
import { tagForTenant } from '../../src/tenant-guard/writes/stamp.js'

const tenant = { id: 'tenant-a', system: 'urn:clinigate:tenant' }

// The last thousand systems of tags were kept whatever their length: a few bodies of 15 MB took the memory of the
// process for good.
t.test('systems of tags that a client makes long are not kept', async t => {
  setFlagsFromString('--expose-gc')
  const gc = runInNewContext('gc') as () => void
  const megabytes = () => {
    gc()
    return process.memoryUsage().heapUsed / 2 ** 20
  }
  const before = megabytes()
  for (let i = 0; i < 30; i++) {
    const system = Buffer.alloc(4 * 2 ** 20, `x${i}`).toString()
    const stamped = tagForTenant(
      { resourceType: 'Patient', meta: { tag: [{ system, code: 'x' }] } } as FhirResource,
      tenant
    )
    t.equal(stamped.meta?.tag?.length, 2)
  }
  t.ok(megabytes() - before < 60, 'of 120 MB')
})

t.test('a long spelling of the tenant system is one of its spellings', async t => {
  const wide = [...tenant.system]
    .map(letter => (/[a-z]/.test(letter) ? String.fromCodePoint(0x1d41a + letter.charCodeAt(0) - 97) : letter))
    .join('')
  for (let shift = 0; shift < 4; shift++) {
    for (const [spelling, told] of [
      [tenant.system, true],
      [wide, true],
      [`${wide}\ud835`, true],
      [`${wide}s`, false],
      [wide.slice(2), false]
    ] as const) {
      const invisible = '\u200b'.repeat(190 + shift)
      t.equal(isTenantSystem(invisible + spelling, tenant), told, `${shift} ${told}`)
      t.equal(isTenantSystem(spelling + invisible + invisible, tenant), told, `${shift} ${told}, before`)
      t.equal(isTenantSystem([...spelling].join(invisible), tenant), told, `${shift} ${told}, between`)
    }
  }
})
