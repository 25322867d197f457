import type { ControlService } from '../../store/desk.js'
import { lastAuditLine } from '../../store/change-log.js'
import { ofEither, page, queryParameter, type DeclaredPage, type PageRequest } from '../declared-page.js'
import { AuditPage } from './trail.js'

/** Lines of one page. */
const pageLength = 50

/** The pages of the audit trail: of an organization, and of everything. */
export const auditPages = (): ReadonlyArray<DeclaredPage<any>> => [
  trailPage({ path: '/organizations/:tenantId/audit' }),
  trailPage({ path: '/audit', role: 'operator' })
]

const trailPage = (declared: Pick<DeclaredPage<any>, 'path' | 'role'>): DeclaredPage<any> => page({
  ...ofEither(() => undefined),
  ...declared,
  title: 'Audit trail',
  show: ({ subject: organization, request }) => show(request, organization?.tenantId)
})

async function show ({ controlService, query }: PageRequest, tenantId: string | undefined) {
  const entity = queryParameter(query.entity)
  const before = numberOf(queryParameter(query.before))
  const found = await controlService.auditTrail({ tenantId, entity, before, limit: pageLength + 1 })
  const entries = found.slice(0, pageLength)
  const older = found.length > pageLength ? entries.at(-1)!.seq : undefined
  return (
    <AuditPage
      tenantId={tenantId}
      entity={entity}
      entries={entries}
      names={await namesFor(controlService, tenantId)}
      before={older}
      isFirst={before === undefined}
    />
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
