import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { ControlService } from '../../store/desk.js'
import { lastAuditLine } from '../../store/change-log.js'
import { AuditPage } from './trail.js'
import { operatorsOnly, queryParameter } from '../organization-requests.js'
import type { PageFacts } from '../page.js'

/** Lines of one page. */
const pageLength = 50

/** A request about the trail of the organization in the path, or of everything when it names none. */
interface AuditRequest {
  Params: { readonly tenantId?: string }
  Querystring: Readonly<Record<string, string | string[] | undefined>>
}

/** The pages of the audit trail. */
export async function auditRoutes (scope: FastifyInstance): Promise<void> {
  scope.get<AuditRequest>('/organizations/:tenantId/audit', async (request, reply) => await show(request, reply))
  scope.get<AuditRequest>('/audit', { onRequest: operatorsOnly }, async (request, reply) => await show(request, reply))
}

async function show (
  { controlService, query, params: { tenantId } }: FastifyRequest<AuditRequest>,
  reply: FastifyReply
): Promise<FastifyReply> {
  const facts: PageFacts =
    tenantId === undefined ? {} : { organization: await controlService.findOrganization(tenantId) }
  const entity = queryParameter(query.entity)
  const before = numberOf(queryParameter(query.before))
  const found = await controlService.auditTrail({ tenantId, entity, before, limit: pageLength + 1 })
  const entries = found.slice(0, pageLength)
  const older = found.length > pageLength ? entries.at(-1)!.seq : undefined
  return await reply.page(
    'Audit trail',
    <AuditPage
      tenantId={tenantId}
      entity={entity}
      entries={entries}
      names={await namesFor(controlService, tenantId)}
      before={older}
      isFirst={before === undefined}
    />,
    facts
  )
}

/**
 * The names, by id, of the keys, people and tokens that lines are about, and of the organizations where lines are about
 * several.
 */
async function namesFor (
  controlService: ControlService,
  tenantId: string | undefined
): Promise<ReadonlyMap<string, string>> {
  const [organizations, keys, members, tokens] = await Promise.all([
    tenantId === undefined ? controlService.listOrganizations() : [],
    tenantId === undefined ? [] : controlService.listKeys(tenantId),
    controlService.listMembers(tenantId),
    controlService.listTokens(tenantId)
  ])
  return new Map([
    ...organizations.map(({ tenantId, name }) => [tenantId, name] as const),
    ...keys.map(({ keyId, name }) => [keyId, name] as const),
    ...members.map(({ memberId, email }) => [memberId, email] as const),
    ...tokens.map(({ tokenId, name }) => [tokenId, name] as const)
  ])
}

/** The number of a line; undefined, which requests the newest, for any other text. */
function numberOf (text: string | undefined): number | undefined {
  return text !== undefined && /^\d{1,15}$/.test(text) && Number(text) <= lastAuditLine ? Number(text) : undefined
}
