import type { Plans } from '../config.js'
import type { OrganizationState } from '../keys/change-feed.js'
import type { OrganizationRow } from './tables.js'
import type { MadeOnce } from './context.js'
import { goodName } from './good-name.js'
import { ControlRefused } from './refused.js'

/** A customer of the service: a tenant with its plan. */
export interface Organization extends OrganizationState {
  readonly name: string
  /** Whether live requests past the month's allowance are served: its plan has that, and nobody switched it off. */
  readonly overage: boolean
  /** ISO 8601. */
  readonly createdAt: string
}

/** What the control plane must know of plans. */
export interface KnownPlans {
  /** The names that an organization's plan may have. */
  readonly plans: readonly string[]
  /** Those of them past whose allowance nothing is ever served, whatever an organization wishes. */
  readonly plansWithoutOverage?: readonly string[]
}

/** What the control plane must know of these plans. */
export function knownPlans (plans: Plans): KnownPlans {
  return { plans: Object.keys(plans), plansWithoutOverage: Object.keys(plans).filter(name => !plans[name]!.overage) }
}

/** What is said when an organization is made; overage is on where the plan has it, unless it is switched off. */
export interface OrganizationDraft extends Pick<MadeOnce, 'once'> {
  readonly name: string
  readonly plan: string
  readonly overage?: boolean
  /** The name of a datastore of its own, as gateways are configured; null takes it back. */
  readonly datastore?: string | null
}

/** What can be changed later; what is absent stays as it is. */
export type OrganizationChanges = Partial<Omit<OrganizationDraft, 'once'>>

/** The row of an organization, once its name and plan are found good. Whether it switched overage off is kept on every plan. */
export function organizationRow (organization: Organization, { plans }: KnownPlans): OrganizationRow {
  const { tenantId, plan, overage, createdAt, datastore } = organization
  if (!plans.includes(plan)) throw new ControlRefused('invalid', `There is no plan with this name. Use one of: ${plans.join(', ')}.`, 'plan')
  if (datastore !== undefined && !/^[\w.-]{1,64}$/.test(datastore)) throw new ControlRefused('invalid', 'The name of a datastore must have 1 to 64 letters, digits, dots, hyphens and underscores, as in the gateways\' configuration.', 'datastore')
  return { tenantId, name: goodName(organization.name), plan, overage: Number(overage), createdAt, datastore: datastore ?? null }
}

/** An organization as it is stored: its overage is on where the plan has it and nobody switched it off. */
export function toOrganization (row: OrganizationRow, { plansWithoutOverage = [] }: KnownPlans): Organization {
  const { datastore, ...rest } = row
  return { ...rest, overage: row.overage === 1 && !plansWithoutOverage.includes(row.plan), ...(datastore === null ? {} : { datastore }) }
}

/** @throws {ControlRefused} where overage is wished on a plan that has none */
export function demandOverage (isWished: boolean | undefined, plan: string, { plansWithoutOverage = [] }: KnownPlans): void {
  if (isWished === true && plansWithoutOverage.includes(plan)) {
    throw new ControlRefused('invalid', 'This plan has no overage: requests beyond its quota are refused. Leave overage out, or choose a plan that has it.')
  }
}

/** The part of an organization that gateways need: of overage whether it was switched off, since what a plan offers they know by themselves and as it is now. */
export function organizationState ({ tenantId, plan, overage, datastore }: OrganizationRow): OrganizationState {
  return { tenantId, plan, overage: overage === 1, datastore: datastore ?? undefined }
}
