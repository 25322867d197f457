import type { TokenRole, Token } from '../../store/token-store.js'
import { Heading, Time, Secret, ShownOnce } from '../components.js'
import { fetchPageFacts, createOptionalOrganizationBase, definePage, type DeclaredPage } from '../declared-page.js'
import { endOfLastDay, readField } from '../form.js'
import { PostForm, SubmitButton } from '../forms.js'
import type { DashboardContext } from '../options.js'
import { tokensPath, tokenPath, home } from '../paths.js'
import { paginateTokens, TokensPage } from './list.js'

/** The pages of tokens. */
export const tokenPages = (parts: DashboardContext): ReadonlyArray<DeclaredPage<any>> => [
  tokensPage({ path: '/organizations/:tenantId/tokens' }, parts),
  tokensPage({ path: '/tokens', role: 'operator' }, parts),
  definePage({
    path: '/tokens/:tokenId/revoke',
    role: 'admin',
    load: ({ controlService, params }) => controlService.findToken(params.tokenId),
    facts: ({ tenantId }, request) => fetchPageFacts(tokensPath(tenantId), tenantId, request),
    title: 'Revoke token',
    show: ({ csrf, subject }) => <RevokeTokenPage csrf={csrf} token={subject} />,
    actions: [{
      run: async ({ controlService }, { tokenId }) => {
        const { tenantId, name } = await controlService.revokeToken(tokenId)
        return { to: tokensPath(tenantId), message: `Token “${name}” revoked.` }
      }
    }]
  })
]

/** The tokens of an organization, or those of operators and gateways. */
function tokensPage (
  declared: Pick<DeclaredPage<any>, 'path' | 'role'>, { now, url }: DashboardContext
): DeclaredPage<any> {
  const either = createOptionalOrganizationBase(tokensPath)
  return definePage({
    ...either,
    ...declared,
    title: 'Tokens',
    show: async ({ subject: organization, request, csrf, once, mayChange, typed, error }) => {
      const { controlService, query } = request
      const tenantId = organization?.tenantId
      const tokens = await controlService.listTokens(tenantId)
      return (
        <TokensPage
          csrf={csrf}
          once={once}
          tenantId={tenantId}
          listing={paginateTokens(tokens.reverse(), now(), query)}
          now={now()}
          mayChange={mayChange}
          name={typed?.('name')}
          role={typed?.('role') || undefined}
          lastDay={typed?.('lastDay')}
          error={error}
        />
      )
    },
    actions: [{
      redisplayOn: 'invalid',
      run: async ({ controlService, body }, organization) => {
        const { secret, ...token } = await controlService.createToken({
          tenantId: organization?.tenantId,
          name: readField(body, 'name'),
          role: readField(body, 'role') as TokenRole,
          expiresAt: endOfLastDay(readField(body, 'lastDay')),
          once: readField(body, 'once')
        })
        const content = <TokenSecretPage token={token} secret={secret} controlUrl={url} />
        return { title: 'Token created', content, facts: either.facts(organization) }
      }
    }]
  })
}

/** The confirmation page for revoking a token. */
function RevokeTokenPage ({ csrf, token }: { readonly csrf: string, readonly token: Token }) {
  return (
    <>
      <Heading title={`Revoke the token “${token.name}”?`} />
      <p>
        Secret <code safe>{`…${token.hint}`}</code>, created <Time at={token.createdAt} />.
      </p>
      <p>
        {token.role === 'gateway'
          ? 'The gateway that uses it keeps working with the keys that it knows, but no longer learns about changes.'
          : 'The program that uses it is refused from its next request on.'}{' '}
        This cannot be undone.
      </p>
      <PostForm action={tokenPath(token.tokenId, 'revoke')} csrf={csrf}>
        <SubmitButton label='Revoke token' cancel={tokensPath(token.tenantId)} isDangerous />
      </PostForm>
    </>
  )
}

/** The page that shows a new token's secret, once, and how it is used. */
function TokenSecretPage ({
  token,
  secret,
  controlUrl
}: {
  readonly token: Token
  readonly secret: string
  readonly controlUrl: string
}) {
  const isGateway = token.role === 'gateway'
  const command = isGateway
    ? `CONTROL_URL=${controlUrl} CLINIGATE_GATEWAY_TOKEN=${secret} npx clinigate start --role gateway`
    : `curl -s ${controlUrl}/control/v1/organizations -H 'authorization: Bearer ${secret}'`
  return (
    <>
      <Heading title={`Token “${token.name}” created`} />
      <ShownOnce heading='Token' text={secret} label='the token' next={tokensPath(token.tenantId)}>
        <section>
          <h2>{isGateway ? 'Start the gateway' : 'A first request'}</h2>
          <Secret text={command} label='the command' />
          {isGateway ? <p>Once it runs, it appears under <a href={`${home}/gateways`}>Gateways</a>.</p> : ''}
        </section>
      </ShownOnce>
    </>
  )
}
