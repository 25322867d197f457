import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { newIdempotencyToken } from '../../store/context.js'
import { requireAdmin } from '../../store/permissions.js'
import type { ControlError } from '../../store/control-error.js'
import type { TokenRole, Token } from '../../store/token-store.js'
import { field, redisplayOnError, statusOf, toFormError } from '../form.js'
import { endOfLastDay } from '../usage/last-day.js'
import { mayChange, operatorsOnly, type OrganizationRequest } from '../organization-requests.js'
import type { PageFacts } from '../page.js'
import { tokensPath, tokenPath } from '../paths.js'
import type { DashboardContext } from '../options.js'
import { tokenListing, TokensPage } from './list.js'
import { TokenSecretPage } from './secret.js'
import { Heading, Time } from '../components.js'
import { PostForm, SubmitButton } from '../forms.js'

interface TokenRequest { Params: { readonly tokenId: string } }

/**
 * A request about the tokens of the organization in the path, or about those of operators and gateways when it names
 * none.
 */
interface TokensRequest { Params: { readonly tenantId?: string }, Querystring: OrganizationRequest['Querystring'] }

/** The pages of tokens. */
export async function tokenRoutes (scope: FastifyInstance, parts: DashboardContext): Promise<void> {
  for (const [path, guard] of [
    ['/organizations/:tenantId/tokens', {}],
    ['/tokens', { onRequest: operatorsOnly }]
  ] as const) {
    scope.get<TokensRequest>(path, guard, async (request, reply) => await showAll(request, reply, { parts }))
    scope.post<TokensRequest>(path, guard, async (request, reply) => {
      await factsOf(request, request.params.tenantId)
      requireAdmin(request.controlService.actor)
      return await redisplayOnError(
        () => create(request, reply, parts),
        refusal => showAll(request, reply, { parts, refusal })
      )
    })
  }
  scope.get<TokenRequest>('/tokens/:tokenId/revoke', async (request, reply) => await renderRevocation(request, reply))
  scope.post<TokenRequest>('/tokens/:tokenId/revoke', async (request, reply) => await revoke(request, reply))
}

/** The layout's content on a page about these tokens; refused where the requesting member may not see them. */
async function factsOf (
  { controlService }: Pick<FastifyRequest, 'controlService'>,
  tenantId: string | undefined
): Promise<PageFacts> {
  return {
    under: tokensPath(tenantId),
    ...(tenantId === undefined ? {} : { organization: await controlService.findOrganization(tenantId) })
  }
}

async function showAll (
  request: FastifyRequest<TokensRequest>,
  reply: FastifyReply,
  { parts, refusal }: { readonly parts: DashboardContext; readonly refusal?: ControlError }
): Promise<FastifyReply> {
  if (refusal?.reason === 'conflict') throw refusal
  const {
    controlService,
    body,
    query,
    params: { tenantId }
  } = request
  const facts = await factsOf(request, tenantId)
  const tokens = await controlService.listTokens(tenantId)
  const now = parts.now()
  const form = {
    csrf: reply.generateCsrf(),
    once: newIdempotencyToken(),
    name: field(body, 'name'),
    role: field(body, 'role') || undefined,
    lastDay: field(body, 'lastDay'),
    error: refusal && toFormError(refusal)
  }
  if (refusal !== undefined) reply.code(statusOf(refusal))
  return await reply.page(
    'Tokens',
    <TokensPage
      {...form}
      tenantId={tenantId}
      listing={tokenListing(tokens.reverse(), now, query)}
      now={now}
      mayChange={mayChange(request)}
    />,
    facts
  )
}

async function create (
  { controlService, body, params: { tenantId } }: FastifyRequest<TokensRequest>,
  reply: FastifyReply,
  { url }: DashboardContext
): Promise<FastifyReply> {
  const draft = {
    tenantId,
    name: field(body, 'name'),
    role: field(body, 'role') as TokenRole,
    expiresAt: endOfLastDay(field(body, 'lastDay')),
    once: field(body, 'once')
  }
  const { secret, ...token } = await controlService.createToken(draft)
  return await reply
    .code(201)
    .page(
      'Token created',
    <TokenSecretPage token={token} secret={secret} controlUrl={url} />,
    await factsOf({ controlService }, tenantId)
    )
}

async function renderRevocation (
  { controlService, params }: FastifyRequest<TokenRequest>,
  reply: FastifyReply
): Promise<FastifyReply> {
  const token = await controlService.findToken(params.tokenId)
  requireAdmin(controlService.actor)
  return await reply.page(
    'Revoke token',
    <RevokeTokenPage csrf={reply.generateCsrf()} token={token} />,
    await factsOf({ controlService }, token.tenantId)
  )
}

async function revoke (
  { controlService, params }: FastifyRequest<TokenRequest>,
  reply: FastifyReply
): Promise<FastifyReply> {
  const { tenantId, name } = await controlService.revokeToken(params.tokenId)
  return reply.done(tokensPath(tenantId), `Token “${name}” revoked.`)
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
