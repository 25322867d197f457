import { Type, type TProperties } from 'typebox'
import { roles } from '../../config/actor.js'
import { lastAuditLine } from '../store/change-log.js'
import { tokenRoles } from '../store/token-store.js'
import { usageBreakdowns, usagePeriods } from '../store/usage-totals.js'
import { healthStates } from '../../envelope/health-states.js'
import type { Scope } from '../../keys/caller.js'
import { maxScopes, scopeForm } from '../../keys/scopes.js'
import { modes } from '../../config/mode.js'

/** The JSON of the management API: requests and responses. The types of the handlers are checked against it. */

const strict = <P extends TProperties>(
  properties: P,
  options: { description?: string; minProperties?: number } = {}
) => Type.Object(properties, { ...options, additionalProperties: false })

const time = (description: string) => Type.String({ format: 'date-time', description })
const text = (description: string, maxLength = 200) => Type.String({ description, minLength: 1, maxLength })
const maybe = Type.Optional

const tenantId = Type.String({
  description: 'Tenant id of the organization, as in the tag of its records',
  maxLength: 64
})
const mode = Type.Enum(modes, { description: 'Which data the key gives access to' })
const scopes = Type.Unsafe<Scope[]>(
  Type.Array(Type.String({ pattern: scopeForm }), {
    description:
      'What the key is allowed to do: `read`, `write` or `*` for all records; `patients:read`, `patients:write` or `patients:*` for one resource, by its path; `fhir/Patient:read` and so on for one type of raw FHIR, which includes its resource; `webhooks` for the webhooks of the organization, with the events of all records',
    examples: [['*'], ['patients:read', 'observations:*'], ['fhir/Patient:read']],
    minItems: 1,
    maxItems: maxScopes
  })
)
const role = Type.Enum(roles, {
  description: 'Operators can do everything, admins everything in their organization, viewers only read'
})
const tokenRole = Type.Enum(tokenRoles, {
  description:
    "A person's role, or `gateway` for what a gateway sends and receives: keys, usage and bulk jobs of all organizations"
})
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

const keyFacts = {
  keyId: Type.String(),
  tenantId,
  name: text('Its purpose'),
  mode,
  scopes,
  hint: Type.String({ description: 'The last four characters of the secret' }),
  createdAt: time('When it was created'),
  createdBy: Type.String({ description: 'Who created it' }),
  expiresAt: maybe(time('When it expires; absent if never')),
  revokedAt: maybe(time('When it was revoked')),
  successor: maybe(Type.String({ description: 'The key that replaced it' })),
  lastUsedAt: maybe(time('When a gateway last saw it, delayed by some seconds'))
}

export const key = strict(keyFacts)
export const keyDraft = strict({ name: text('Its purpose'), mode, scopes: maybe(scopes), expiresAt: maybe(expiresAt) })
export const newKey = strict({
  keyId: Type.String(),
  secret: Type.String({ description: 'Shown only once' }),
  expiresAt: maybe(time('When it expires; absent if never'))
})
export const rolledKey = strict({ ...newKey.properties, previous: key })
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

export const reach = strict({
  changedAt: time('When the key was last changed'),
  gateways: Type.Array(strict({
    name: Type.String(),
    isConnected: Type.Boolean({ description: 'Whether it reported within the last few seconds' }),
    isReached: Type.Boolean({ description: 'Whether the gateway has applied the change' }),
    afterMs: maybe(Type.Integer({ description: 'How long that took, in ms; absent once a later change was made' }))
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
  isFromProvider: Type.Boolean({ description: 'Whether the person signs in with an OpenID provider' }),
  createdAt: time('When the person became a member'),
  createdBy: Type.String(),
  lastSignInAt: maybe(time('When the person last signed in'))
})

export const memberChanges = strict({ role })
export const oneTimePassword = strict({ password: Type.String({ description: 'For one sign-in; shown only once' }) })

const invitationFacts = {
  invitationId: Type.String(),
  tenantId: maybe(tenantId),
  email: Type.String(),
  role,
  createdAt: time('When it was created'),
  createdBy: Type.String(),
  expiresAt: time('When its link expires')
}

export const invitation = strict(invitationFacts)
export const newInvitation = strict({
  ...invitationFacts,
  token: Type.String({ description: 'Completes the link /dashboard/invitations/<token>; shown only once' })
})
export const invitationDraft = strict({ email: text('Email address of the person', 254), role })

const tokenFacts = {
  tokenId: Type.String(),
  tenantId: maybe(tenantId),
  name: Type.String(),
  role: tokenRole,
  hint: Type.String({ description: 'The last four characters of the secret' }),
  createdAt: time('When it was created'),
  createdBy: Type.String(),
  expiresAt: maybe(time('When it expires; absent if never')),
  revokedAt: maybe(time('When it was revoked'))
}

export const token = strict(tokenFacts)
export const newToken = strict({ ...tokenFacts, secret: Type.String({ description: 'Shown only once' }) })
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

export const gateway = strict({
  gatewayId: Type.String(),
  name: Type.String(),
  version: Type.String(),
  startedAt: time('When the process started'),
  seenAt: time('When it last reported'),
  isConnected: Type.Boolean(),
  changesBehind: maybe(
    Type.Integer({
      description: 'How many changes its copy still has to apply; absent if it follows another control plane'
    })
  ),
  reachedAt: time('When it applied its latest change'),
  checks: Type.Record(Type.String(), Type.Enum(healthStates), { description: 'The state of what it depends on' })
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

const count = Type.Integer({ minimum: 0 })
const charge = {
  counted: Type.Integer({ description: 'Billable live requests' }),
  overage: Type.Integer({ description: 'Of these, the ones beyond the monthly quota' }),
  amount: Type.String({ description: 'Their cost, an exact decimal such as 12.345' })
}

export const bill = strict({
  tenantId,
  month: Type.String(),
  currency: Type.Literal('USD'),
  ...charge,
  hours: Type.Array(strict({ hour: time('When the hour began'), ...charge }))
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

export const usage = strict({
  totals: Type.Array(strict({
    from: time('When the period begins'),
    of: maybe(Type.String({ description: 'Which key, resource or interaction' })),
    requests: count,
    ok: count,
    errors: Type.Integer({ minimum: 0, description: 'Client errors' }),
    refused: Type.Integer({ minimum: 0, description: 'Refused because of scope, rate limit or quota' }),
    failed: Type.Integer({ minimum: 0, description: 'Failed because of the gateway or the datastore' }),
    counted: Type.Integer({ minimum: 0, description: 'Those that count against the monthly quota' }),
    overage: Type.Integer({ minimum: 0, description: 'Of these, the ones beyond the quota' })
  })),
  isComplete: Type.Boolean({ description: 'Whether the list is complete' })
})
