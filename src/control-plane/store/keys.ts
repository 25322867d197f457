import { Type, type Static } from 'typebox'
import type { DeepReadonly } from '../../config/schema.js'
import { formatSuggestion } from '../../envelope/nearest.js'
import type { Scope } from '../../keys/caller.js'
import { isKnownScope, maxScopes, scopeForm, scopeNames, simplifyScopes } from '../../keys/scopes.js'
import type { KeyState } from '../../keys/change-feed.js'
import { modes } from '../../config/mode.js'
import type { IdempotencyToken } from './context.js'
import {
  changesSchema, textSchema as text, dateTimeSchema as time, entitySchema, expirySchema, omitNulls,
  tenantIdSchema
} from './entity-schema.js'
import { parseName } from './validate-name.js'
import { ControlError } from './control-error.js'
import type { KeyRow } from './tables.js'

/** The schema of a {@link Key}. */
export const keySchema = entitySchema({
  keyId: Type.String(),
  tenantId: tenantIdSchema,
  name: text('Its purpose'),
  mode: Type.Enum(modes, { description: 'Which data the key gives access to' }),
  scopes: Type.Unsafe<Scope[]>(
    Type.Array(Type.String({ pattern: scopeForm }), {
      description:
        'What the key is allowed to do: `read`, `write` or `*` for all records; `patients:read`, `patients:write` or `patients:*` for one resource, by its path; `fhir/Patient:read` and so on for one type of raw FHIR, which includes its resource; `webhooks` for the webhooks of the organization, with the events of all records',
      examples: [['*'], ['patients:read', 'observations:*'], ['fhir/Patient:read']],
      minItems: 1,
      maxItems: maxScopes
    })
  ),
  hint: Type.String({ description: 'The last four characters of the secret' }),
  createdAt: time('When it was created'),
  createdBy: Type.String({ description: 'Who created it' }),
  expiresAt: Type.Optional(time('When it expires; absent if never')),
  revokedAt: Type.Optional(time('When it was revoked')),
  successor: Type.Optional(Type.String({ description: 'The key that replaced it' })),
  lastUsedAt: Type.Optional(time('When a gateway last saw it, delayed by some seconds'))
})

/** A key as shown to people, without its secret and hash. Times are ISO 8601. */
export type Key = DeepReadonly<Static<typeof keySchema>>

const { name, mode, scopes } = keySchema.properties

/** The schema of a request for a new key. */
export const keyDraftSchema = entitySchema({
  name,
  mode,
  scopes: Type.Optional(scopes),
  expiresAt: Type.Optional(expirySchema)
})

/**
 * The input for creating a key. Without scopes it may do everything; without an expiry it is valid until it is revoked.
 */
export type KeyDraft = IdempotencyToken & { readonly tenantId: string, readonly expiresAt?: Date } &
  DeepReadonly<Omit<Static<typeof keyDraftSchema>, 'expiresAt'>>

/** The schema of what a request changes of a key. */
export const keyChangesSchema = changesSchema({
  name: Type.Optional(name),
  expiresAt: Type.Optional(expirySchema)
})

/** The possible changes of a valid key. Absent members stay unchanged. */
export type KeyChanges = Pick<Partial<KeyDraft>, keyof Static<typeof keyChangesSchema>>

/** The schema of a {@link NewKey}. */
export const newKeySchema = entitySchema({
  keyId: Type.String(),
  secret: Type.String({ description: 'Shown only once' }),
  expiresAt: Type.Optional(time('When it expires; absent if never'))
})

/** A new key with its secret, which can't be read again later. */
export type NewKey = Readonly<Static<typeof newKeySchema>>

/** The schema of a new key, and of the one that it follows. */
export const rolledKeySchema = entitySchema({ ...newKeySchema.properties, previous: keySchema })

/** The schema of how a key is rolled. */
export const overlapSchema = entitySchema({
  overlapSeconds: Type.Integer({
    description: 'How long the old key stays valid; 0 revokes it immediately',
    minimum: 0,
    maximum: 31_536_000
  })
})

/** The key in a row. */
export function toKey ({ hash, ...row }: KeyRow): Key {
  return { ...omitNulls(row), scopes: toScopes(row) }
}

/** The part of a key that gateways replicate. */
export function toKeyState (row: KeyRow): KeyState {
  const { keyId, tenantId, name, mode, scopes, expiresAt, revokedAt } = toKey(row)
  return { keyId, hash: row.hash, tenantId, name, mode, scopes, expiresAt, revokedAt }
}

/** The columns of a draft. @throws {ControlError} if it is invalid */
export function toKeyColumns (
  draft: KeyDraft,
  now: Date
): Pick<KeyRow, 'tenantId' | 'name' | 'mode' | 'scopes' | 'expiresAt'> {
  const { tenantId, mode, name, scopes = ['*'], expiresAt } = draft
  if (!modes.includes(mode)) throw new ControlError('invalid', 'The mode of a key must be test or live.', 'mode')
  return {
    tenantId,
    name: parseName(name),
    mode,
    scopes: parseScopes(scopes).join(','),
    expiresAt: expiresAt === undefined ? null : parseExpiry(expiresAt, now)
  }
}

/** The columns of changes. @throws {ControlError} if they are invalid */
export function toChangedColumns (
  { name, expiresAt }: KeyChanges,
  now: Date
): Partial<Pick<KeyRow, 'name' | 'expiresAt'>> {
  return {
    ...(name === undefined ? {} : { name: parseName(name) }),
    ...(expiresAt === undefined ? {} : { expiresAt: parseExpiry(expiresAt, now) })
  }
}

/**
 * The last time that ISO 8601 writes with a four-digit year. Gateways reject a later one, and with it the whole batch
 * of the feed.
 */
const lastExpiry = Date.parse('9999-12-31T23:59:59.999Z')

/** A time in the future, as ISO 8601. @throws {ControlError} */
export function parseExpiry (expiresAt: Date, now: Date): string {
  if (!(expiresAt > now)) {
    throw new ControlError(
      'invalid',
      'The expiry must be a time in the future, such as 2030-01-31T00:00:00Z.',
      'expiresAt'
    )
  }
  if (expiresAt.getTime() > lastExpiry) {
    throw new ControlError(
      'invalid',
      'The expiry must be before the end of the year 9999. Leave it out for no expiry.',
      'expiresAt'
    )
  }
  return expiresAt.toISOString()
}

/** @throws {ControlError} if the key was revoked or has expired, which can't be undone */
export function requireActiveKey (row: KeyRow, now: Date): void {
  if (row.revokedAt !== null) throw new ControlError('conflict', 'This key was revoked. Create a new one.')
  if (row.expiresAt !== null && new Date(row.expiresAt) <= now) {
    throw new ControlError('conflict', 'This key has expired. Create a new one.')
  }
}

/**
 * @throws {ControlError} if the key was already rolled: a form that is submitted twice must not create two successors
 */
export function requireNotRotated (row: KeyRow): void {
  if (row.successor !== null) {
    throw new ControlError('conflict', 'This key was already rolled. Roll its successor instead.')
  }
}

/**
 * When a rolled key ends: it expires after the overlap, or at its own expiry if that is earlier. Without an overlap it
 * is revoked immediately.
 */
export function toRotationDeadline (
  row: KeyRow,
  overlapMs: number,
  now: Date
): Partial<Pick<KeyRow, 'expiresAt' | 'revokedAt'>> {
  if (!(overlapMs >= 0)) throw new ControlError('invalid', 'The overlap must not be negative.')
  if (overlapMs === 0) return { revokedAt: now.toISOString() }
  const end = Math.min(now.getTime() + overlapMs, row.expiresAt === null ? lastExpiry : Date.parse(row.expiresAt))
  return { expiresAt: new Date(end).toISOString() }
}

/** The draft of a key's successor: the same in everything, with the same lifetime from now on. */
export function toSuccessorDraft (row: KeyRow, now: Date): KeyDraft {
  const lifetimeMs = row.expiresAt === null ? undefined : Date.parse(row.expiresAt) - Date.parse(row.createdAt)
  return {
    tenantId: row.tenantId,
    mode: row.mode,
    name: row.name,
    scopes: toScopes(row),
    expiresAt: lifetimeMs === undefined ? undefined : new Date(Math.min(now.getTime() + lifetimeMs, lastExpiry))
  }
}

function toScopes ({ scopes }: Pick<KeyRow, 'scopes'>): Scope[] {
  return scopes.split(',') as Scope[]
}

/**
 * The scopes in their shortest form.
 * @throws {ControlError} for none, for too many, and for one that is unknown, which would permit nothing
 */
function parseScopes (requested: readonly string[]): Scope[] {
  const unknown = requested.find(scope => !isKnownScope(scope))
  const isOk = requested.length > 0 && requested.length <= maxScopes && unknown === undefined
  if (isOk) return simplifyScopes(requested as readonly Scope[])
  const [name = ''] = unknown?.split(':') ?? []
  throw new ControlError(
    'invalid',
    `The scopes of a key must be *, read or write, or up to ${maxScopes} of resources, such as patients:read, observations:* or fhir/Patient:read${formatSuggestion(name, scopeNames, '.')}`,
    'scopes'
  )
}
