import { Type, type Static } from 'typebox'
import type { Plans } from '../../config/schema.js'
import type { OrganizationState } from '../../keys/change-feed.js'
import type { OrganizationRow } from './tables.js'
import type { IdempotencyToken } from './context.js'
import {
  changesSchema, textSchema as text, dateTimeSchema as time, entitySchema, omitNulls, tenantIdSchema
} from './entity-schema.js'
import { parseName } from './validate-name.js'
import { ControlError } from './control-error.js'

const overage = Type.Boolean({
  description: 'Whether live requests beyond the monthly quota are served and billed; never on a plan without overage'
})

/** The schema of an {@link Organization}. */
export const organizationSchema = entitySchema({
  tenantId: tenantIdSchema,
  name: text('Display name'),
  plan: text('A plan from the configuration'),
  overage,
  datastore: Type.Optional(text('The organization\'s own datastore for live data, on the plan enterprise', 64)),
  createdAt: time('When it was created')
})

/** A customer of the service: a tenant with its plan. `overage`: the plan has it, and it was not switched off. */
export type Organization = Readonly<Static<typeof organizationSchema>>

/** The facts about plans that the control plane needs. */
export interface KnownPlans {
  /** The names of all plans. */
  readonly plans: readonly string[]
  /** The plans that serve nothing above their quota; an organization cannot choose otherwise. */
  readonly plansWithoutOverage?: readonly string[]
}

/** The facts about the configured plans that the control plane needs. */
export function toKnownPlans (plans: Plans): KnownPlans {
  return { plans: Object.keys(plans), plansWithoutOverage: Object.keys(plans).filter(name => !plans[name]!.overage) }
}

const { name, plan } = organizationSchema.properties

/** The schema of a request for a new organization. */
export const organizationDraftSchema = entitySchema({
  name,
  plan,
  overage: Type.Optional(overage),
  datastore: Type.Optional(text("The name of the organization's own datastore", 64))
})

/** The input for creating an organization. Overage is on if the plan has it, unless it is switched off. */
export type OrganizationDraft =
  Readonly<Static<typeof organizationDraftSchema>> & Pick<IdempotencyToken, 'once'>

/** The schema of {@link OrganizationChanges}. */
export const organizationChangesSchema = changesSchema({
  name: Type.Optional(name),
  plan: Type.Optional(plan),
  overage: Type.Optional(overage),
  datastore: Type.Optional(
    Type.Unsafe<string | null>({
      type: ['string', 'null'],
      description: "The name of the organization's own datastore; null removes it",
      maxLength: 64
    })
  )
})

/** The possible changes of an organization. Absent members stay unchanged; null removes the datastore. */
export type OrganizationChanges = Readonly<Static<typeof organizationChangesSchema>>

/**
 * The row of an organization. Its choice to switch overage off persists on every plan. @throws {ControlError} if its
 * name, plan or datastore is invalid
 */
export function toOrganizationRow (organization: Organization, { plans }: KnownPlans): OrganizationRow {
  const { tenantId, plan, overage, createdAt, datastore } = organization
  if (!plans.includes(plan)) {
    throw new ControlError('invalid', `There is no plan with this name. Use one of: ${plans.join(', ')}.`, 'plan')
  }
  if (datastore !== undefined && !/^[\w.-]{1,64}$/.test(datastore)) {
    throw new ControlError(
      'invalid',
      "The name of a datastore must have 1 to 64 letters, digits, dots, hyphens and underscores, as in the gateways' configuration.",
      'datastore'
    )
  }
  return {
    tenantId,
    name: parseName(organization.name),
    plan,
    overage: Number(overage),
    createdAt,
    datastore: datastore ?? null
  }
}

/** The organization in a row. Its overage is on if the plan has it and it was not switched off. */
export function toOrganization (row: OrganizationRow, { plansWithoutOverage = [] }: KnownPlans): Organization {
  return { ...omitNulls(row), overage: row.overage === 1 && !plansWithoutOverage.includes(row.plan) }
}

/** @throws {ControlError} if overage is requested on a plan that has none */
export function requireOverageAllowed (
  isRequested: boolean | undefined,
  plan: string,
  { plansWithoutOverage = [] }: KnownPlans
): void {
  if (isRequested === true && plansWithoutOverage.includes(plan)) {
    throw new ControlError(
      'invalid',
      'This plan has no overage: requests beyond its quota are refused. Leave overage out, or choose a plan that has it.'
    )
  }
}

/**
 * The part of an organization that gateways replicate. `overage` is only whether it was not switched off, since
 * gateways have the plans with overage in their configuration.
 */
export function toOrganizationState ({ tenantId, plan, overage, datastore }: OrganizationRow): OrganizationState {
  return { tenantId, plan, overage: overage === 1, datastore: datastore ?? undefined }
}
