import t from 'tap'
import type { Backend } from '../../src/backends/backend.js'
import { HttpBackend } from '../../src/backends/http-backend.js'
import { createRouting } from '../../src/backends/routing.js'

function createBackend (name: string): Backend {
  return new HttpBackend({ name, baseUrl: `http://127.0.0.1/${name}` })
}

const datastores = { test: createBackend('test'), live: createBackend('live'), acme: createBackend('acme') }
const backendFor = createRouting({
  plans: ['sandbox', 'starter', 'pro', 'team', 'enterprise'],
  datastores,
  test: 'test',
  live: 'live',
  dedicated: { 'tenant-acme': 'acme' }
})

t.test('each key mode and plan has its own datastore', async t => {
  for (const plan of ['sandbox', 'starter', 'pro', 'team', 'enterprise', 'unheard-of']) {
    t.equal(backendFor({ mode: 'test', plan, tenantId: 'tenant-acme' }).name, 'test')
  }
  for (const plan of ['sandbox', 'starter', 'pro', 'team']) {
    t.equal(backendFor({ mode: 'live', plan, tenantId: 'tenant-acme' }).name, 'live')
  }
  t.equal(backendFor({ mode: 'live', plan: 'enterprise', tenantId: 'tenant-acme' }).name, 'acme')
})

t.test('live data of an enterprise without a datastore, or of an unknown plan, is rejected', async t => {
  for (const tenantId of [
    'tenant-other',
    'tenant-acm',
    'tenant-acme ',
    'TENANT-ACME',
    'constructor',
    '__proto__',
    ''
  ]) {
    t.throws(() => backendFor({ mode: 'live', plan: 'enterprise', tenantId }), {
      code: 'BACKEND_UNAVAILABLE',
      headers: { 'retry-after': '5' }
    })
  }
  for (const plan of ['Enterprise', 'custom', '', 'toString']) {
    t.throws(() => backendFor({ mode: 'live', plan, tenantId: 'tenant-acme' }), { code: 'BACKEND_UNAVAILABLE' })
  }
})

t.test(
  "an enterprise whose datastore the control plane names has that one, unless it is shared, another's or missing",
  async t => {
    const own = createRouting({
      plans: ['pro', 'enterprise'],
      datastores: { ...datastores, bay: createBackend('bay') },
      test: 'test',
      live: 'live',
      dedicated: { 'tenant-acme': 'acme' }
    })
    t.equal(own({ mode: 'live', plan: 'enterprise', tenantId: 'tenant-bay', datastore: 'bay' }).name, 'bay')
    t.equal(
      own({ mode: 'live', plan: 'enterprise', tenantId: 'tenant-acme', datastore: 'bay' }).name,
      'acme',
      'the configuration wins'
    )
    t.equal(
      own({ mode: 'live', plan: 'pro', tenantId: 'tenant-bay', datastore: 'bay' }).name,
      'live',
      'other plans share'
    )
    t.equal(own({ mode: 'test', plan: 'enterprise', tenantId: 'tenant-bay', datastore: 'bay' }).name, 'test')
    for (const name of ['test', 'live', 'acme', 'nowhere', '']) {
      t.throws(() => own({ mode: 'live', plan: 'enterprise', tenantId: 'tenant-bay', datastore: name }), {
        code: 'BACKEND_UNAVAILABLE'
      })
    }
  }
)

t.test('a mode that is neither test nor live is not routed', async t => {
  t.throws(() => backendFor({ mode: 'Live' as 'live', plan: 'pro', tenantId: 'tenant-acme' }), {
    code: 'BACKEND_UNAVAILABLE'
  })
})

t.test('a routed name without a datastore stops the start', async t => {
  t.throws(
    () =>
      createRouting({
        plans: ['sandbox', 'starter', 'pro', 'team', 'enterprise'],
        datastores,
        test: 'test',
        live: 'live',
        dedicated: { x: 'nowhere' }
      }),
    /nowhere/
  )
  t.throws(
    () =>
      createRouting({ plans: ['sandbox', 'starter', 'pro', 'team', 'enterprise'], datastores, test: 'tests', live: 'live' }),
    /tests/
  )
})
