import { Type, type TProperties } from 'typebox'
import { lastAuditLine } from '../store/change-log.js'
import { describedText as text, describedTime as time, tenantIdSchema as tenantId } from '../store/entity-schema.js'
import { keySchema, newKeySchema } from '../store/keys.js'
import { invitationSchema, memberSchema } from '../store/members.js'
import { tokenSchema } from '../store/token-store.js'
import { usageBreakdowns, usagePeriods } from '../store/usage-totals.js'

/**
 * The JSON of the management API: requests, and responses that are more than an entity of the store. The types of the
 * handlers are checked against it.
 */

const strict = <P extends TProperties>(
  properties: P,
  options: { description?: string; minProperties?: number } = {}
) => Type.Object(properties, { ...options, additionalProperties: false })

const maybe = Type.Optional

const { mode, scopes } = keySchema.properties
const { role } = memberSchema.properties
const { role: tokenRole } = tokenSchema.properties
const overage = Type.Boolean({
  description: 'Whether live requests beyond the monthly quota are served and billed; never on a plan without overage'
})
const expiresAt = Type.String({
  description: 'When it expires, in ISO 8601 with a time zone, such as 2030-01-31T00:00:00Z',
  format: 'date-time'
})

export const organization = strict({
  tenantId,
  name: text('Display name'),
  plan: text('A plan from the configuration'),
  overage,
  datastore: maybe(text('The organization\'s own datastore for live data, on the plan enterprise', 64)),
  createdAt: time('When it was created')
})

export const organizationDraft = strict({
  name: text('Display name'),
  plan: text('A plan from the configuration'),
  overage: maybe(overage),
  datastore: maybe(text("The name of the organization's own datastore", 64))
})

export const organizationChanges = strict(
  {
    name: maybe(text('Display name')),
    plan: maybe(text('A plan from the configuration')),
    overage: maybe(overage),
    datastore: maybe(
      Type.Unsafe<string | null>({
        type: ['string', 'null'],
        description: "The name of the organization's own datastore; null removes it",
        maxLength: 64
      })
    )
  },
  { minProperties: 1 }
)

export const keyDraft = strict({ name: text('Its purpose'), mode, scopes: maybe(scopes), expiresAt: maybe(expiresAt) })
export const rolledKey = strict({ ...newKeySchema.properties, previous: keySchema })
export const keyChanges = strict(
  { name: maybe(text('Its purpose')), expiresAt: maybe(expiresAt) },
  { minProperties: 1 }
)
export const overlap = strict({
  overlapSeconds: Type.Integer({
    description: 'How long the old key stays valid; 0 revokes it immediately',
    minimum: 0,
    maximum: 31_536_000
  })
})

export const memberChanges = strict({ role })
export const oneTimePassword = strict({ password: Type.String({ description: 'For one sign-in; shown only once' }) })

export const newInvitation = strict({
  ...invitationSchema.properties,
  token: Type.String({ description: 'Completes the link /dashboard/invitations/<token>; shown only once' })
})
export const invitationDraft = strict({ email: text('Email address of the person', 254), role })

export const newToken = strict({ ...tokenSchema.properties, secret: Type.String({ description: 'Shown only once' }) })
export const tokenDraft = strict({ name: text('Its purpose'), role: tokenRole, expiresAt: maybe(expiresAt) })

export const auditEntry = strict({
  seq: Type.Integer({ description: 'Position of the line; pass the last one as `before` to get earlier lines' }),
  at: time('When it was done'),
  actor: Type.String({
    description:
      'Who did it, such as `member:ann@example.org (mem-…)`, `token:tok-…` or `cli:root`; the oldest lines have members without their id'
  }),
  action: Type.String({ description: 'What was done' }),
  entity: Type.String({ description: 'The id of what was changed' }),
  tenantId: maybe(tenantId),
  detail: Type.Unknown({ description: 'The fields that were set, without secrets' })
})

export const actor = strict({
  name: Type.String({ description: 'The caller, as named in the audit trail' }),
  role,
  tenantId: maybe(tenantId)
})
export const auditQuery = strict({
  entity: maybe(text('Only changes of this id', 64)),
  before: maybe(Type.Integer({ description: 'Only lines before this position', minimum: 1, maximum: lastAuditLine })),
  limit: Type.Integer({ description: 'Maximum number of lines', minimum: 1, maximum: 1000, default: 100 })
})

export const usageQuery = strict({
  from: Type.String({ description: 'Time in the first period, in ISO 8601 with a time zone', format: 'date-time' }),
  to: Type.String({
    description: 'End of the time range, exclusive; the last period contains the moment before it',
    format: 'date-time'
  }),
  by: maybe(Type.Enum(usagePeriods, { description: 'If absent, one total for the whole time range' })),
  mode: maybe(mode),
  keyId: maybe(Type.String({ maxLength: 64 })),
  per: maybe(Type.Enum(usageBreakdowns, { description: 'A separate total for each' }))
})
