import type { FastifyRequest } from 'fastify'
import type { Organization } from '../store/organizations.js'
import { requireAdmin, requireOperator } from '../store/permissions.js'

/** A request to a page of an organization. */
export interface OrganizationRequest {
  Params: { readonly tenantId: string }
  Querystring: Readonly<Record<string, string | string[] | undefined>>
}

/** Whether the requesting member may change anything, and so is shown forms. */
export function mayChange ({ member }: FastifyRequest): boolean {
  return member.role !== 'viewer'
}

/** The organization in the path. @throws {ControlError} if the requesting member may not see it */
export function organizationOf ({
  controlService,
  params
}: FastifyRequest<OrganizationRequest>): Promise<Organization> {
  return controlService.findOrganization(params.tenantId)
}

/** The same for who wants to change something there. @throws {ControlError} */
export async function organizationToChange (request: FastifyRequest<OrganizationRequest>): Promise<Organization> {
  const organization = await organizationOf(request)
  requireAdmin(request.controlService.actor)
  return organization
}

/** Restricts pages to operators. @throws {ControlError} */
export async function operatorsOnly ({ controlService }: FastifyRequest): Promise<void> {
  requireOperator(controlService.actor)
}

/** A single value of the query. */
export function queryParameter (value: string | string[] | undefined): string | undefined {
  return typeof value === 'string' ? value : undefined
}
