import fc from 'fast-check'
import t from 'tap'
import type { Caller, Scope } from '../../src/keys/caller.js'
import {
  covers,
  toEffect,
  isKnownScope,
  isLimited,
  may,
  requireScope,
  scopeForm,
  scopeNames,
  simplifyScopes,
  type Effect,
  type Target
} from '../../src/keys/scopes.js'
import { mappings } from '../../src/mappings/registry.js'

t.test('read permits GET and HEAD, write permits changes, * permits both, and an unknown method needs write', async t => {
  t.same(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'BREW'].map(toEffect), [
    'read',
    'read',
    'write',
    'write',
    'write',
    'write',
    'write'
  ])
  const grants: Array<[Scope[], boolean, boolean]> = [
    [['read'], true, false],
    [['write'], false, true],
    [['read', 'write'], true, true],
    [['*'], true, true],
    [[], false, false]
  ]
  const targets: Target[] = ['any', 'all', { resource: 'patients' }, { fhirType: 'Binary' }, { type: 'Patient' }]
  for (const [scopes, read, write] of grants) {
    for (const target of targets) t.same([may(scopes, 'read', target), may(scopes, 'write', target)], [read, write])
  }
})

t.test('a scope of one resource permits this resource and nothing else', async t => {
  const scopes: Scope[] = ['patients:read', 'observations:*', 'fhir/Encounter:write']
  const open: Array<[Effect, Target]> = [
    ['read', { resource: 'patients' }],
    ['read', { type: 'Patient' }],
    ['read', { resource: 'observations' }],
    ['write', { resource: 'observations' }],
    ['write', { fhirType: 'Encounter' }],
    ['write', { resource: 'encounters' }],
    ['read', 'any'],
    ['write', 'any']
  ]
  for (const [effect, target] of open) t.ok(may(scopes, effect, target), `${effect} ${JSON.stringify(target)}`)
  const closed: Array<[Effect, Target]> = [
    ['write', { resource: 'patients' }],
    ['read', { fhirType: 'Patient' }],
    ['read', { fhirType: 'Observation' }],
    ['read', { fhirType: 'Encounter' }],
    ['read', { resource: 'encounters' }],
    ['read', { resource: 'conditions' }],
    ['read', { resource: 'no-such' }],
    ['read', 'all'],
    ['write', 'all']
  ]
  for (const [effect, target] of closed) t.notOk(may(scopes, effect, target), `${effect} ${JSON.stringify(target)}`)
})

t.test('a scope that this version does not know permits nothing, and the other scopes stay valid', async t => {
  const unknown = [
    '', ':', 'patients', 'patients:', ':read', 'patients:erase', 'patient:read', 'Patient:read', 'fhir/patients:read',
    'fhir/ValueSet:read', 'fhir/Patient', 'fhir/*:read', '*:read', 'read:*', 'patients:read:write', 'Read', 'read ',
    'webhooks:all', '__proto__:read', 'constructor'
  ]
  for (const scope of unknown) {
    t.notOk(isKnownScope(scope), scope)
    for (const effect of ['read', 'write'] as const) {
      for (const target of ['any', 'all', { resource: 'patients' }, { fhirType: 'Patient' }] as const) {
        t.notOk(may([scope as Scope], effect, target), scope)
        t.equal(may([scope as Scope, 'patients:read'], effect, target), may(['patients:read'], effect, target))
      }
    }
  }
})

const scope = fc.oneof(
  fc.constantFrom<Scope>('read', 'write', '*'),
  fc
    .tuple(fc.constantFrom(...scopeNames), fc.constantFrom('read', 'write', '*'))
    .map(parts => parts.join(':') as Scope)
)
const scopeList = fc.array(scope, { maxLength: 5 })
const target = fc.oneof(
  fc.constantFrom<Target>('any', 'all'),
  fc.constantFrom(...mappings).chain(({ path, type }) =>
    fc.constantFrom<Target>({ resource: path }, { type }, { fhirType: type })
  )
)
const effect = fc.constantFrom<Effect>('read', 'write')

t.test('laws of scopes', async t => {
  const listPermitted = (scopes: readonly Scope[]) =>
    (['read', 'write'] as const).flatMap(effect =>
      mappings.flatMap(({ path, type }) =>
        [{ resource: path }, { fhirType: type }, { type }].map(target => may(scopes, effect, target))
      )
    )
  fc.assert(fc.property(scopeList, scopes => {
    for (const each of scopes) t.match(each, new RegExp(scopeForm))
    t.same(listPermitted(simplifyScopes(scopes)), listPermitted(scopes), 'the shortest form permits the same')
    t.same(simplifyScopes(simplifyScopes(scopes)), simplifyScopes(scopes))
  }), { numRuns: 50 })
  fc.assert(fc.property(scopeList, scopeList, effect, target, (one, other, effect, target) => {
    t.equal(
      may([...one, ...other], effect, target),
      may(one, effect, target) || may(other, effect, target),
      'scopes add up, so an unlimited target needs an unlimited scope'
    )
    if (covers(one, other, effect) && target !== 'any') {
      t.ok(may(one, effect, target) || !may(other, effect, target), 'what covers permits at least as much')
    }
    t.ok(covers([...one, ...other], other, effect))
    if (!isLimited(one, effect)) t.ok(may(one, effect, target))
  }), { numRuns: 300 })
})

t.test('a call beyond the scope is INSUFFICIENT_SCOPE and names the scope it needs', async t => {
  const caller: Pick<Caller, 'scopes'> = { scopes: ['read', 'patients:write'] }
  requireScope(caller, 'read', 'all')
  requireScope(caller, 'write', { resource: 'patients' })
  const requireRejected = (target: Target, message: RegExp) =>
    t.throws(() => requireScope(caller, 'write', target), { code: 'INSUFFICIENT_SCOPE', status: 403, message })
  requireRejected('all', /the scope write,/)
  requireRejected({ resource: 'labs' }, /the scope write or labs:write,/)
  requireRejected({ fhirType: 'Patient' }, /the scope write or fhir\/Patient:write,/)
})
