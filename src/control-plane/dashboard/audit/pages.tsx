import { lastAuditLine, type AuditEntry } from '../../store/change-log.js'
import { Empty, Heading, Table, Time, type Columns } from '../components.js'
import { ActorName, formatAction, formatDetail, parseActor } from './labels.js'
import { auditPath, organizationPath } from '../paths.js'
import type { ControlService } from '../../store/control-service.js'
import {
  createOptionalOrganizationBase, definePage, queryParameter, type DeclaredPage, type PageRequest
} from '../declared-page.js'

/** The content of a page of the audit trail. */
interface AuditPageContent {
  /** Undefined for the trail of everything. */
  readonly tenantId: string | undefined
  /** The one thing that it is about. */
  readonly entity: string | undefined
  readonly entries: readonly AuditEntry[]
  /** Where the older ones begin; undefined when there are none. */
  readonly before: number | undefined
  readonly isFirst: boolean
  /** Names of the entities that the lines are about, by id. */
  readonly names: ReadonlyMap<string, string>
}

/** The page of the audit trail, newest line first. */
function AuditPage (content: AuditPageContent) {
  const { tenantId, entity, entries, names } = content
  const about =
    entity === undefined
      ? 'Every change, by whom and when. Nothing is ever removed from it.'
      : `What was done with ${formatEntity(entity, names)}.`
  return (
    <>
      <Heading title='Audit trail' about={about}>
        {entity === undefined
          ? ''
          : <a class='button' href={auditPath(tenantId)}>Show everything</a>}
      </Heading>
      {entries.length === 0
        ? (
          <Empty title='Nothing here'>
            <p>Changes of organizations, keys, people and tokens appear here as they are made.</p>
          </Empty>
          )
        : <Table label='Audit trail' columns={buildColumns(content)} rows={entries} />}
      <Pages {...content} />
    </>
  )
}

const buildColumns = ({ tenantId, names }: AuditPageContent): Columns<AuditEntry> => [
  { name: 'When', cell: ({ at }) => <Time at={at} /> },
  { name: 'Who', kind: 'long', cell: ({ actor }) => <ActorName actor={actor} /> },
  { name: 'What', kind: 'long', cell: entry => <ActionLink tenantId={tenantId} entry={entry} names={names} /> },
  tenantId === undefined && {
    name: 'Organization',
    kind: 'long',
    cell: entry => <OrganizationLink tenantId={entry.tenantId} names={names} />
  }
]

/** An action, as a link to all actions on the same entity. */
function ActionLink ({
  tenantId,
  entry,
  names
}: Pick<AuditPageContent, 'tenantId' | 'names'> & { readonly entry: AuditEntry }) {
  const { action, entity } = entry
  const exactly = formatDetailWithName(entry, names)
  return (
    <div>
      <a href={auditPath(tenantId, { entity })} title={`All that was done with ${formatEntity(entity, names)}`} safe>
        {formatAction(action)}
      </a>
      {exactly === ''
        ? ''
        : <span class='beneath' safe>{exactly}</span>}
    </div>
  )
}

function formatEntity (id: string, names: ReadonlyMap<string, string>): string {
  const name = names.get(id)
  return name === undefined ? id : `“${name}” (${id})`
}

/** The details of an action, with the name of its entity unless the line contains it already. */
function formatDetailWithName (
  { actor, entity, tenantId, detail }: AuditEntry, names: ReadonlyMap<string, string>
): string {
  const exactly = formatDetail(detail)
  const name = names.get(entity) ?? entity
  const { text, memberId } = parseActor(actor)
  const isOwn = memberId === undefined ? name === text : entity === memberId
  return entity === tenantId || isOwn || /^(name|email): /.test(exactly)
    ? exactly
    : [name, exactly].filter(text => text !== '').join(', ')
}

function OrganizationLink ({
  tenantId,
  names
}: {
  readonly tenantId: string | undefined
  readonly names: ReadonlyMap<string, string>
}) {
  if (tenantId === undefined) return <span class='quiet'>none</span>
  return (
    <a href={organizationPath(tenantId)} safe>
      {names.get(tenantId) ?? tenantId}
    </a>
  )
}

function Pages ({ tenantId, entity, before, isFirst }: AuditPageContent) {
  if (isFirst && before === undefined) return ''
  return (
    <nav class='pages' aria-label='Pages of the audit trail'>
      {isFirst ? '' : <a class='button' href={auditPath(tenantId, { entity })}>Newest</a>}
      {before === undefined ? '' : <a class='button' href={auditPath(tenantId, { entity, before })}>Older</a>}
    </nav>
  )
}

/** Lines of one page. */
const pageLength = 50

/** The pages of the audit trail: of an organization, and of everything. */
export const auditPages = (): ReadonlyArray<DeclaredPage<any>> => [
  trailPage({ path: '/organizations/:tenantId/audit' }),
  trailPage({ path: '/audit', role: 'operator' })
]

const trailPage = (declared: Pick<DeclaredPage<any>, 'path' | 'role'>): DeclaredPage<any> => definePage({
  ...createOptionalOrganizationBase(() => undefined),
  ...declared,
  title: 'Audit trail',
  show: ({ subject: organization, request }) => show(request, organization?.tenantId)
})

async function show ({ controlService, query }: PageRequest, tenantId: string | undefined) {
  const entity = queryParameter(query.entity)
  const before = parseLineNumber(queryParameter(query.before))
  const found = await controlService.listAuditEntries({ tenantId, entity, before, limit: pageLength + 1 })
  const entries = found.slice(0, pageLength)
  const older = found.length > pageLength ? entries.at(-1)!.seq : undefined
  return (
    <AuditPage
      tenantId={tenantId}
      entity={entity}
      entries={entries}
      names={await fetchEntityNames(controlService, tenantId)}
      before={older}
      isFirst={before === undefined}
    />
  )
}

/**
 * The names, by id, of the keys, people and tokens that lines are about, and of the organizations where lines are about
 * several.
 */
async function fetchEntityNames (
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
function parseLineNumber (text: string | undefined): number | undefined {
  return text !== undefined && /^\d{1,15}$/.test(text) && Number(text) <= lastAuditLine ? Number(text) : undefined
}
