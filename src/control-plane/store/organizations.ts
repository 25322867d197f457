import type { Plans } from '../../config/schema.js'
import type { OrganizationState } from '../../keys/change-feed.js'
import type { OrganizationRow } from './tables.js'
import type { IdempotencyToken } from './context.js'
import { parseName } from './validate-name.js'
import { ControlError } from './control-error.js'

/** A customer of the service: a tenant with its plan. */
export interface Organization extends OrganizationState {
  readonly name: string
  /** Whether live requests above the monthly quota are served: the plan has overage, and it was not switched off. */
  readonly overage: boolean
  /** ISO 8601. */
  readonly createdAt: string
}

/** The facts about plans that the control plane needs. */
export interface KnownPlans {
  /** The names of all plans. */
  readonly plans: readonly string[]
  /** The plans that serve nothing above their quota, whatever an organization chooses. */
  readonly plansWithoutOverage?: readonly string[]
}

/** The facts about the configured plans that the control plane needs. */
export function knownPlans (plans: Plans): KnownPlans {
  return { plans: Object.keys(plans), plansWithoutOverage: Object.keys(plans).filter(name => !plans[name]!.overage) }
}

/** The input for creating an organization. Overage is on if the plan has it, unless it is switched off. */
export interface OrganizationDraft extends Pick<IdempotencyToken, 'once'> {
  readonly name: string
  readonly plan: string
  readonly overage?: boolean
  /** The name of the organization's own datastore in the configuration of the gateways. Null removes it. */
  readonly datastore?: string | null
}

/** The possible changes of an organization. Absent members stay unchanged. */
export type OrganizationChanges = Partial<Omit<OrganizationDraft, 'once'>>

/**
 * The row of an organization. Its choice to switch overage off persists on every plan. @throws {ControlError} if its
 * name, plan or datastore is invalid
 */
export function organizationRow (organization: Organization, { plans }: KnownPlans): OrganizationRow {
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
  const { datastore, ...rest } = row
  return {
    ...rest,
    overage: row.overage === 1 && !plansWithoutOverage.includes(row.plan),
    ...(datastore === null ? {} : { datastore })
  }
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
export function organizationState ({ tenantId, plan, overage, datastore }: OrganizationRow): OrganizationState {
  return { tenantId, plan, overage: overage === 1, datastore: datastore ?? undefined }
}
