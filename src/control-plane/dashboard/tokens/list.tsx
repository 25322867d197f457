import type { Token, TokenRole } from '../../store/token-store.js'
import { Badge, Empty, Heading, Table, Time, OptionalTime, ErrorNotice, type Columns } from '../components.js'
import type { FormError } from '../form.js'
import { LastDayField, NameField, PostForm, RadioField, SubmitButton, type RadioOption } from '../forms.js'
import { sortActiveFirst, PaginatedList, paginate, type ListOptions } from '../listing.js'
import type { PageQuery } from '../declared-page.js'
import { tokenPath, tokensPath } from '../paths.js'
import { ActorName } from '../audit/labels.js'

/** The content of the page of tokens. */
interface TokenList {
  readonly csrf: string
  readonly once: string
  /** Undefined for the tokens of operators and gateways. */
  readonly tenantId: string | undefined
  /** Those that open something first. */
  readonly listing: ListOptions<Token>
  readonly now: Date
  readonly mayChange: boolean
  readonly name?: string
  readonly role?: string
  readonly lastDay?: string
  readonly error?: FormError
}

/** The page of tokens that a query requests. @param tokens newest first */
export function paginateTokens (
  tokens: readonly Token[],
  now: Date,
  query: PageQuery
): ListOptions<Token> {
  return paginate(
    sortActiveFirst(tokens, token => !hasEnded(token, now)),
    ({ name, tokenId, hint }) => [name, tokenId, hint],
    query
  )
}

/**
 * The tokens of an organization's programs, or those of operators' programs and of gateways; expired and revoked ones
 * come last.
 */
export function TokensPage (list: TokenList) {
  const { tenantId, listing, now, mayChange, error } = list
  const activeTokens = listing.rows.filter(token => !hasEnded(token, now))
  const ended = listing.rows.filter(token => hasEnded(token, now))
  const path = tokensPath(tenantId)
  const about = tenantId === undefined
    ? 'Gateways and operators’ programs send a token to this control plane. It opens no records.'
    : 'Programs that manage this organization over /control/v1 send a token. It opens no records; use a key for those.'
  return (
    <>
      <Heading title='Tokens' about={about}>
        {mayChange && listing.found > 0
          ? <a class='button button-primary' href='#new-token'>New token</a>
          : ''}
      </Heading>
      <ErrorNotice error={error} />
      <PaginatedList
        listing={listing}
        path={path}
        what='Name, token id or last characters'
        empty={<NoToken tenantId={tenantId} />}
      >
        {activeTokens.length > 0
          ? <Table label='Tokens' columns={buildColumns(now, mayChange)} rows={activeTokens} />
          : ''}
        {listing.search === '' && listing.page === 1 && activeTokens.length === 0
          ? <NoToken tenantId={tenantId} />
          : ''}
        {ended.length === 0 ? '' : <Ended tokens={ended} now={now} />}
      </PaginatedList>
      {mayChange ? <TokenForm {...list} /> : ''}
    </>
  )
}

function NoToken ({ tenantId }: { readonly tenantId: string | undefined }) {
  return (
    <Empty title='No active tokens'>
      <p>
        {tenantId === undefined
          ? 'Create one for each gateway that runs in a process of its own, and for programs that manage all organizations.'
          : 'Create one for a program that creates or revokes keys, such as a deployment.'}
      </p>
    </Empty>
  )
}

function Ended ({ tokens, now }: { readonly tokens: readonly Token[], readonly now: Date }) {
  return (
    <section>
      <h2>Expired and revoked tokens</h2>
      <Table label='Expired and revoked tokens' columns={buildColumns(now, false)} rows={tokens} />
    </section>
  )
}

const buildColumns = (now: Date, mayRevoke: boolean): Columns<Token> => [
  { name: 'Name', cell: ({ name }) => <span safe>{name}</span> },
  { name: 'Role', cell: ({ role }) => <Badge tone='neutral' text={role} /> },
  { name: 'State', cell: token => <TokenState token={token} now={now} /> },
  { name: 'Secret', cell: ({ hint }) => <code safe>{`…${hint}`}</code> },
  { name: 'Created', cell: ({ createdAt }) => <Time at={createdAt} /> },
  { name: 'By', kind: 'long', cell: ({ createdBy }) => <ActorName actor={createdBy} /> },
  { name: 'Expires', cell: ({ expiresAt }) => <OptionalTime at={expiresAt} otherwise='never' /> },
  mayRevoke && {
    name: 'Actions',
    cell: ({ tokenId, name }) => <a href={tokenPath(tokenId, 'revoke')} aria-label={`Revoke ${name}`}>Revoke</a>
  }
]

function hasEnded ({ revokedAt, expiresAt }: Token, now: Date): boolean {
  return revokedAt !== undefined || (expiresAt !== undefined && Date.parse(expiresAt) <= now.getTime())
}

function TokenState ({ token, now }: { readonly token: Token, readonly now: Date }) {
  if (token.revokedAt !== undefined) return <Badge tone='bad' text='revoked' />
  return hasEnded(token, now) ? <Badge tone='neutral' text='expired' /> : <Badge tone='good' text='active' />
}

const hints: Readonly<Record<TokenRole, string>> = {
  gateway: 'Follows the changes of all keys, and reports usage. Give each gateway its own.',
  operator: 'Manages all organizations over /control/v1.',
  admin: 'Creates, rolls and revokes keys, invites people.',
  viewer: 'Reads everything, changes nothing.'
}

function TokenForm ({ csrf, once, tenantId, now, name, role, lastDay, error }: TokenList) {
  const roles: readonly TokenRole[] = tenantId === undefined ? ['gateway', 'operator'] : ['admin', 'viewer']
  const choices: readonly RadioOption[] = roles.map(value => ({ value, label: value, hint: hints[value] }))
  return (
    <section id='new-token'>
      <h2>New token</h2>
      <PostForm action={tokensPath(tenantId)} csrf={csrf} once={once}>
        <NameField value={name} hint='The program that will use it.' error={error} />
        <RadioField label='Role' name='role' choices={choices} value={role} error={error} />
        <LastDayField now={now} value={lastDay} error={error} />
        <SubmitButton label='Create token' />
      </PostForm>
    </section>
  )
}
