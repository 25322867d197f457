import type { Scope } from '../../../keys/caller.js'
import type { Key } from '../../store/keys.js'
import { Badge, Empty, Heading, Table, Time, OptionalTime, type Columns, type Tone } from '../components.js'
import { sortActiveFirst, PaginatedList, paginate, type ListOptions } from '../listing.js'
import type { PageQuery } from '../declared-page.js'
import { keyPath, organizationPath } from '../paths.js'

/** The status of a key at a given time. */
type KeyStatus = 'good' | 'expiring' | 'rolled' | 'expired' | 'revoked'

/** A key that ends within this time is shown as expiring soon. */
const soonMs = 14 * 24 * 3_600_000

/** The status of a key; a rolled key stays valid until it expires. */
export function getKeyStatus (key: Pick<Key, 'expiresAt' | 'revokedAt' | 'successor'>, now: Date): KeyStatus {
  if (key.revokedAt !== undefined) return 'revoked'
  const leftMs = key.expiresAt === undefined ? Infinity : Date.parse(key.expiresAt) - now.getTime()
  if (leftMs <= 0) return 'expired'
  if (key.successor !== undefined) return 'rolled'
  return leftMs <= soonMs ? 'expiring' : 'good'
}

/** Whether a key still opens anything. */
export function isActive (condition: KeyStatus): boolean {
  return condition !== 'expired' && condition !== 'revoked'
}

/** The words and the colour for each condition. */
const conditionBadges: Readonly<Record<KeyStatus, { readonly tone: Tone, readonly text: string }>> = {
  good: { tone: 'good', text: 'active' },
  expiring: { tone: 'warning', text: 'expires soon' },
  rolled: { tone: 'warning', text: 'rolled' },
  expired: { tone: 'neutral', text: 'expired' },
  revoked: { tone: 'bad', text: 'revoked' }
}

/** A text for what the scopes of a key permit. */
export function formatScopes (scopes: readonly Scope[]): string {
  return scopes.map(scope => (scope === '*' ? 'read, write' : scope)).join(', ')
}

/** A key, and how it is at the moment. */
interface KeyWithStatus { readonly key: Key, readonly condition: KeyStatus }

/** The content of the list of an organization's keys. */
interface KeyList {
  readonly tenantId: string
  /** Those that open something first. */
  readonly listing: ListOptions<KeyWithStatus>
  readonly mayChange: boolean
}

/** The page of an organization's keys that a query requests. @param keys newest first */
export function paginateKeys (
  keys: readonly Key[],
  now: Date,
  query: PageQuery
): ListOptions<KeyWithStatus> {
  const judged = keys.map(key => ({ key, condition: getKeyStatus(key, now) }))
  return paginate(
    sortActiveFirst(judged, ({ condition }) => isActive(condition)),
    ({ key: { name, keyId, hint } }) => [name, keyId, hint],
    query
  )
}

/** The keys of an organization; expired and revoked ones come last. */
export function KeysPage ({ tenantId, listing, mayChange }: KeyList) {
  const path = organizationPath(tenantId, 'keys')
  const activeKeys = listing.rows.filter(({ condition }) => isActive(condition))
  const ended = listing.rows.filter(({ condition }) => !isActive(condition))
  return (
    <>
      <Heading title='Keys' about='Applications send a key with each request.'>
        {mayChange
          ? (
            <a class='button button-primary' href={organizationPath(tenantId, 'keys/new')}>
              New key
            </a>
            )
          : ''}
      </Heading>
      <PaginatedList
        listing={listing}
        path={path}
        what='Name, key id or last characters'
        empty={<NoKey tenantId={tenantId} mayChange={mayChange} />}
      >
        {activeKeys.length > 0 ? <Table label='Keys' columns={columns} rows={activeKeys} /> : ''}
        {listing.search === '' && listing.page === 1 && activeKeys.length === 0
          ? <NoKey tenantId={tenantId} mayChange={mayChange} />
          : ''}
        {ended.length === 0 ? '' : <Ended judged={ended} />}
      </PaginatedList>
    </>
  )
}

function NoKey ({ tenantId, mayChange }: Pick<KeyList, 'tenantId' | 'mayChange'>) {
  return (
    <Empty title='No active keys'>
      <p>An application needs a key to send requests. A test key opens test records, a live key opens real ones.</p>
      {mayChange
        ? <p><a class='button' href={organizationPath(tenantId, 'keys/new')}>Create a key</a></p>
        : <p>Ask an admin of your organization to create one.</p>}
    </Empty>
  )
}

function Ended ({ judged }: { readonly judged: readonly KeyWithStatus[] }) {
  return (
    <section>
      <h2>Expired and revoked keys</h2>
      <Table label='Expired and revoked keys' columns={columns} rows={judged} />
    </section>
  )
}

const columns: Columns<KeyWithStatus> = [
  {
    name: 'Name',
    cell: ({ key: { keyId, name, hint } }) => (
      <div>
        <a href={keyPath(keyId)} safe>{name}</a>
        <code class='beneath' safe>{`…${hint}`}</code>
      </div>
    )
  },
  { name: 'State', cell: ({ condition }) => <KeyStatusBadge condition={condition} /> },
  { name: 'Mode', cell: ({ key: { mode } }) => <Badge tone={mode} text={mode} /> },
  { name: 'Scopes', cell: ({ key }) => <span safe>{formatScopes(key.scopes)}</span> },
  { name: 'Created', cell: ({ key }) => <Time at={key.createdAt} /> },
  { name: 'Last used', cell: ({ key }) => <OptionalTime at={key.lastUsedAt} otherwise='never' /> },
  { name: 'Expires', cell: ({ key }) => <OptionalTime at={key.expiresAt} otherwise='never' /> }
]

/** How a key is, as a badge. */
export function KeyStatusBadge ({ condition }: { readonly condition: KeyStatus }) {
  return <Badge {...conditionBadges[condition]} />
}
