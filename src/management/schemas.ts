import { Type, type TProperties } from 'typebox'
import { roles } from '../actor.js'
import { tokenRoles } from '../control/token-store.js'
import { usageBreakdowns, usagePeriods } from '../control/usage-totals.js'
import { scopes as keyScopes } from '../keys/caller.js'
import { modes } from '../mode.js'

/** The JSON of the management API: what is sent and what is answered. The types of the handlers are checked against it. */

const strict = <P extends TProperties>(properties: P, options: { description?: string, minProperties?: number } = {}) =>
  Type.Object(properties, { ...options, additionalProperties: false })

const time = (description: string) => Type.String({ format: 'date-time', description })
const text = (description: string, maxLength = 200) => Type.String({ description, minLength: 1, maxLength })
const maybe = Type.Optional

const tenantId = Type.String({ description: 'The organization, as its records\' tag says', maxLength: 64 })
const mode = Type.Enum(modes, { description: 'Which data the key opens' })
const scopes = Type.Array(Type.Enum(keyScopes), { description: 'What the key may do', minItems: 1, maxItems: 3 })
const role = Type.Enum(roles, { description: 'Operators do everything, admins everything in their organization, viewers only look' })
const tokenRole = Type.Enum(tokenRoles, { description: 'As a person\'s, or `gateway`: to follow the changes and nothing else' })
const overage = Type.Boolean({ description: 'Whether live requests past the month\'s allowance are served and billed; never on a plan that has no overage' })
const isoTime = '^\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}(:\\d{2}(\\.\\d{1,9})?)?(Z|[+-]\\d{2}:\\d{2})$'
const expiresAt = Type.String({ description: 'When it ends, ISO 8601 with the zone, such as 2030-01-31T00:00:00Z', pattern: isoTime })

export const organization = strict({
  tenantId,
  name: text('For people'),
  plan: text('A plan of the configuration'),
  overage,
  datastore: maybe(text('The datastore of its own that holds its live data, on the plan enterprise', 64)),
  createdAt: time('When it was made')
})

export const organizationDraft = strict({ name: text('For people'), plan: text('A plan of the configuration'), overage: maybe(overage), datastore: maybe(text('The name of a datastore of its own', 64)) })

export const organizationChanges = strict({
  name: maybe(text('For people')),
  plan: maybe(text('A plan of the configuration')),
  overage: maybe(overage),
  datastore: maybe(Type.Unsafe<string | null>({ type: ['string', 'null'], description: 'The name of a datastore of its own; null takes it back', maxLength: 64 }))
}, { minProperties: 1 })

const keyFacts = {
  keyId: Type.String(),
  tenantId,
  name: text('What it is for'),
  mode,
  scopes,
  hint: Type.String({ description: 'The last four characters of the secret' }),
  createdAt: time('When it was made'),
  createdBy: Type.String({ description: 'Who made it' }),
  expiresAt: maybe(time('When it ends, if ever')),
  revokedAt: maybe(time('When it was revoked')),
  successor: maybe(Type.String({ description: 'The key that it was rolled to' })),
  lastUsedAt: maybe(time('When a gateway last saw it; some seconds late'))
}

export const key = strict(keyFacts)
export const keyDraft = strict({ name: text('What it is for'), mode, scopes: maybe(scopes), expiresAt: maybe(expiresAt) })
export const newKey = strict({ keyId: Type.String(), secret: Type.String({ description: 'Shown here and never again' }), expiresAt: maybe(time('When it ends, if ever')) })
export const rolledKey = strict({ ...newKey.properties, previous: key })
export const keyChanges = strict({ expiresAt })
export const overlap = strict({ overlapSeconds: Type.Integer({ description: 'How long the old key goes on; 0 revokes it at once', minimum: 0, maximum: 31_536_000 }) })

export const reach = strict({
  changedAt: time('When the latest change of the key was made'),
  gateways: Type.Array(strict({
    name: Type.String(),
    isConnected: Type.Boolean({ description: 'Whether it said something in the last seconds' }),
    isReached: Type.Boolean({ description: 'Whether the change is in force there' }),
    afterMs: maybe(Type.Integer({ description: 'How long that took, in ms; known while no later change came' }))
  }))
})

const memberId = Type.String()

export const member = strict({
  memberId,
  tenantId: maybe(tenantId),
  email: Type.String(),
  name: Type.String(),
  role,
  mustChangePassword: Type.Boolean(),
  isFromProvider: Type.Boolean({ description: 'Whether the person signs in at an OpenID provider' }),
  createdAt: time('When the person became a member'),
  createdBy: Type.String(),
  lastSignInAt: maybe(time('When the person last signed in'))
})

export const memberChanges = strict({ role })
export const oneTimePassword = strict({ password: Type.String({ description: 'For one sign-in, shown here and never again' }) })

const invitationFacts = { invitationId: Type.String(), tenantId: maybe(tenantId), email: Type.String(), role, createdAt: time('When it was made'), createdBy: Type.String(), expiresAt: time('Until when its link works') }

export const invitation = strict(invitationFacts)
export const newInvitation = strict({ ...invitationFacts, token: Type.String({ description: 'Ends the link /dashboard/invitations/<token>; shown here and never again' }) })
export const invitationDraft = strict({ email: text('Whom', 254), role })

const tokenFacts = {
  tokenId: Type.String(),
  tenantId: maybe(tenantId),
  name: Type.String(),
  role: tokenRole,
  hint: Type.String({ description: 'The last four characters of the secret' }),
  createdAt: time('When it was made'),
  createdBy: Type.String(),
  expiresAt: maybe(time('When it ends, if ever')),
  revokedAt: maybe(time('When it was revoked'))
}

export const token = strict(tokenFacts)
export const newToken = strict({ ...tokenFacts, secret: Type.String({ description: 'Shown here and never again' }) })
export const tokenDraft = strict({ name: text('What it is for'), role: tokenRole, expiresAt: maybe(expiresAt) })

export const auditEntry = strict({
  seq: Type.Integer({ description: 'Its place; pass the last one as `before` for the lines before it' }),
  at: time('When'),
  actor: Type.String({ description: 'Who' }),
  action: Type.String({ description: 'What' }),
  entity: Type.String({ description: 'The id of what was changed' }),
  tenantId: maybe(tenantId),
  detail: Type.Unknown({ description: 'What of it was set, without secrets' })
})

export const gateway = strict({
  gatewayId: Type.String(),
  name: Type.String(),
  version: Type.String(),
  startedAt: time('When the process started'),
  seenAt: time('When it last said something'),
  isConnected: Type.Boolean(),
  changesBehind: maybe(Type.Integer({ description: 'How many changes its copy has still to take; absent where it follows another control plane' })),
  reachedAt: time('When it reached its latest change'),
  checks: Type.Record(Type.String(), Type.Enum(['ok', 'degraded']), { description: 'How what it needs is' })
})

export const actor = strict({ name: Type.String({ description: 'As the audit trail names it' }), role, tenantId: maybe(tenantId) })
export const auditQuery = strict({ entity: maybe(text('Only what was done to this id', 64)), before: maybe(Type.Integer({ description: 'Only lines before this place', minimum: 1 })), limit: Type.Integer({ description: 'How many lines', minimum: 1, maximum: 1000, default: 100 }) })

const count = Type.Integer({ minimum: 0 })
const charge = {
  counted: Type.Integer({ description: 'Live requests that counted' }),
  overage: Type.Integer({ description: 'Those of them that came past the allowance' }),
  amount: Type.String({ description: 'What they cost, an exact decimal such as 12.345' })
}

export const bill = strict({
  tenantId,
  month: Type.String(),
  currency: Type.Literal('USD'),
  ...charge,
  hours: Type.Array(strict({ hour: time('When the hour began'), ...charge }))
})

export const usageQuery = strict({
  from: Type.String({ description: 'The period with this moment is the first, ISO 8601 with the zone', pattern: isoTime }),
  to: Type.String({ description: 'The period with the moment before this one is the last', pattern: isoTime }),
  by: maybe(Type.Enum(usagePeriods, { description: 'Absent: all of the time is added up' })),
  mode: maybe(mode),
  keyId: maybe(Type.String({ maxLength: 64 })),
  per: maybe(Type.Enum(usageBreakdowns, { description: 'A total of its own for each' }))
})

export const usage = strict({
  totals: Type.Array(strict({
    from: time('When the period begins'),
    of: maybe(Type.String({ description: 'Which key, resource or interaction' })),
    requests: count,
    ok: count,
    errors: Type.Integer({ minimum: 0, description: 'What the client has to correct' }),
    refused: Type.Integer({ minimum: 0, description: 'By scope, limit or quota' }),
    failed: Type.Integer({ minimum: 0, description: 'By a fault of the gateway or the datastore' }),
    counted: Type.Integer({ minimum: 0, description: 'Those that count against the month\'s allowance' }),
    overage: Type.Integer({ minimum: 0, description: 'Those of them that came past it' })
  })),
  isWhole: Type.Boolean({ description: 'Whether nothing had to be left out' })
})
