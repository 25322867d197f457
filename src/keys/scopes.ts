import type { FastifyRequest } from 'fastify'
import { Failure } from '../envelope/failures.js'
import { isTenantType, resourceTypes } from '../fhir/resource-types.js'
import { mappings } from '../mappings/registry.js'
import type {} from './authenticate.js'
import type { Caller, Effect, Scope } from './caller.js'

export type { Effect } from './caller.js'

/**
 * The subject of a request: a resource of the simple API by its path; a type of raw FHIR; a type in either of both
 * forms that the key may use; `any` for what belongs to no type, such as the month's usage; `all` for what may hold
 * records of every type.
 */
export type Target =
  { readonly resource: string } | { readonly fhirType: string } | { readonly type: string } | 'any' | 'all'

/** The forms in which a request shows records. */
export type RecordForm = 'simple' | 'fhir'

/** The most scopes that a key can have. */
export const maxScopes = 100

/**
 * The form of a scope, for schemas. Which names there are is decided by {@link isKnownScope}: another version of the
 * control plane may know more.
 */
export const scopeForm = '^(?:\\*|[a-z]+|(?:[a-z][a-z-]*|fhir/[A-Z][A-Za-z]*):(?:read|write|\\*))$'

const all = '*'
const webhooks = 'webhooks'
const rawPrefix = 'fhir/'
const effects: readonly Effect[] = ['read', 'write']

const pathsByType: ReadonlyMap<string, string> = new Map(mappings.map(({ type, path }) => [type, path]))
const typesByPath: ReadonlyMap<string, string> = new Map(mappings.map(({ type, path }) => [path, type]))

/** The names to which a scope can be limited: `patients`, `fhir/Patient`; in the order of the documentation. */
export const scopeNames: readonly string[] = [
  ...typesByPath.keys(),
  ...[...resourceTypes].filter(isTenantType).map(type => rawPrefix + type)
]
const knownNames: ReadonlySet<string> = new Set(scopeNames)

/** A scope taken apart: what it is for, `*` for all records, and what it permits there. */
interface Grant { readonly name: string, readonly effects: readonly Effect[] }

function parseScope (scope: string): Grant | undefined {
  const [name, word, ...more] = scope.includes(':') ? scope.split(':') : [all, scope]
  const permitted = word === all ? effects : effects.filter(effect => effect === word)
  const isKnown = scope.includes(':') ? knownNames.has(name!) : true
  return isKnown && more.length === 0 && permitted.length > 0 ? { name: name!, effects: permitted } : undefined
}

/** Whether this version knows a scope. One that it does not know permits nothing. */
export function isKnownScope (scope: string): scope is Scope {
  return scope === webhooks || parseScope(scope) !== undefined
}

/** The permissions of a key's scopes: the names, by effect. */
type Grants = Readonly<Record<Effect, ReadonlySet<string>>>

/** The scopes of a key never change, so each list is parsed once. */
const parsed = new WeakMap<readonly Scope[], Grants>()

function parseGrants (scopes: readonly Scope[]): Grants {
  const known = parsed.get(scopes)
  if (known !== undefined) return known
  const grants = scopes.flatMap(scope => parseScope(scope) ?? [])
  const collectNames = (effect: Effect) =>
    new Set(grants.filter(({ effects }) => effects.includes(effect)).map(({ name }) => name))
  const made = { read: collectNames('read'), write: collectNames('write') }
  parsed.set(scopes, made)
  return made
}

/**
 * THE RULE: whether a key with these scopes permits an effect on a target. A scope of a type of raw FHIR permits the
 * same on its simple resource, which shows a part of the record; a scope of a simple resource never opens raw FHIR.
 */
export function may (scopes: readonly Scope[], effect: Effect, target: Target): boolean {
  const names = parseGrants(scopes)[effect]
  if (names.has(all)) return true
  if (target === 'all') return false
  if (target === 'any') return names.size > 0
  return listAcceptedNames(target).some(name => names.has(name))
}

/** The scopes, without their effects, of which one is enough for a target. */
function listAcceptedNames (target: Exclude<Target, string>): readonly string[] {
  if ('fhirType' in target) return [rawPrefix + target.fhirType]
  if ('type' in target) return [rawPrefix + target.type, pathsByType.get(target.type) ?? []].flat()
  const type = typesByPath.get(target.resource)
  return type === undefined ? [] : [target.resource, rawPrefix + type]
}

/** Whether a key with these scopes permits everything that another's scopes permit, for this effect. */
export function covers (scopes: readonly Scope[], others: readonly Scope[], effect: Effect): boolean {
  const names = parseGrants(scopes)[effect]
  const isCovered = (name: string): boolean =>
    name.startsWith(rawPrefix) ? names.has(name) : name !== all && may(scopes, effect, { resource: name })
  return names.has(all) || [...parseGrants(others)[effect]].every(isCovered)
}

/** Whether scopes name single resources for an effect, so that some records are open to it and others are not. */
export function isLimited (scopes: readonly Scope[], effect: Effect): boolean {
  return !parseGrants(scopes)[effect].has(all)
}

/**
 * The scopes in their shortest form: each once, in a fixed order, and none that another one includes. Unknown ones are
 * left out.
 */
export function simplifyScopes (scopes: readonly Scope[]): Scope[] {
  if (scopes.includes(all)) return [all]
  const grants = parseGrants(scopes)
  const limited = scopeNames.flatMap(name => {
    const own = effects.filter(effect => grants[effect].has(name) && !grants[effect].has(all))
    const words: ReadonlyArray<Effect | '*'> = own.length === 2 ? [all] : own
    return words.map(word => `${name}:${word}` as const)
  })
  const others = scopes.includes(webhooks) ? [webhooks] as const : []
  return [...effects.filter(effect => grants[effect].has(all)), ...others, ...limited]
}

/** The effect of a request on a simple resource; a method that is not known to read counts as a write. */
export function toEffect (method: string): Effect {
  return method === 'GET' || method === 'HEAD' ? 'read' : 'write'
}

/**
 * Refuses an effect that the caller's key does not permit, before anything is looked up.
 * @throws {Failure} INSUFFICIENT_SCOPE
 */
export function requireScope ({ scopes }: Pick<Caller, 'scopes'>, effect: Effect, target: Target): void {
  if (may(scopes, effect, target)) return
  const [name] = typeof target === 'string' ? [] : listAcceptedNames(target)
  const needed = name === undefined ? effect : `${effect} or ${name}:${effect}`
  throw new Failure('INSUFFICIENT_SCOPE', { message: `Use a key with the scope ${needed}, which this request needs.` })
}

/**
 * Refuses what only a key may do that may do everything: the deletion of evidence.
 * @throws {Failure} INSUFFICIENT_SCOPE
 */
export function requireEveryScope ({ scopes }: Pick<Caller, 'scopes'>): void {
  if (scopes.includes(all)) return
  throw new Failure('INSUFFICIENT_SCOPE', {
    message: 'Use a key with the scope *, which deleting a record of this type needs.'
  })
}

/**
 * Refuses a key that may not manage webhooks, even if it may read all records.
 * @throws {Failure} INSUFFICIENT_SCOPE
 */
export function requireWebhookScope ({ scopes }: Pick<Caller, 'scopes'>): void {
  if (scopes.includes(all) || scopes.includes(webhooks)) return
  throw new Failure('INSUFFICIENT_SCOPE', { message: 'Use a key with the scope webhooks, which this request needs.' })
}

/**
 * Refuses a request that its key does not permit, before anything is looked up. A route that does not declare its
 * subject is open only to keys without limits.
 * @throws {Failure} INSUFFICIENT_SCOPE
 */
export function requireScopeForRoute ({ caller, method, routeOptions: { config }, is404 }: FastifyRequest): void {
  const effect = config.effect ?? toEffect(method)
  if (effect === 'of the record') return
  requireScope(caller, effect, is404 ? 'any' : config.target ?? 'all')
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /**
     * The effect of a route, where its method does not show it: a kick-off of an export is a POST that reads. For some
     * routes it depends on the record, and the route itself checks it.
     */
    readonly effect?: Effect | 'of the record'
    /** The subject of a route. Absent: records of every type. */
    readonly target?: Target
  }
}
