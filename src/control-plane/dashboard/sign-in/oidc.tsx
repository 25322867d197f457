import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { ControlError } from '../../store/control-error.js'
import {
  resolveProviderIdentity, Provider, type Claims, type ProviderSettings, type AuthorizationRequest
} from './oidc-provider.js'
import type { DashboardContext } from '../options.js'
import { signIn } from '../session.js'
import { sanitizeNextPath } from './next.js'

/** How long a person may take at the provider. */
const authorizationSeconds = 600

/** The routes to an OpenID provider and back. */
export async function oidcRoutes (
  scope: FastifyInstance,
  parts: DashboardContext & { readonly provider: ProviderSettings }
): Promise<void> {
  const {
    provider: settings,
    clientSecret,
    url,
    cookies: { provider: name, flags }
  } = parts
  const provider = new Provider({ settings, clientSecret, callbackUrl: `${url}/dashboard/oidc/callback` })
  scope.get('/oidc/start', async (request, reply) => {
    const begun = await provider
      .begin(sanitizeNextPath((request.query as { next?: string }).next ?? ''))
      .catch(error => logFailure(request, error, 'the OpenID provider does not answer'))
    if (begun === undefined) return await reply.code(503).page('No answer', <ProviderDown />)
    reply.setCookie(name, encode(begun.authorizationRequest), { ...flags, maxAge: authorizationSeconds })
    return reply.redirect(begun.url.href, 303)
  })
  scope.get('/oidc/callback', async (request, reply) => {
    const authorizationRequest = decode(request.cookies[name])
    // It is used once, even if the sign-in fails.
    reply.clearCookie(name, flags)
    const claims =
      authorizationRequest &&
      (await provider
        .finish(getQuery(request), authorizationRequest)
        .catch(error => logFailure(request, error, 'a sign-in at the OpenID provider failed')))
    if (authorizationRequest === undefined || claims === undefined) {
      return await reply.code(400).page('Sign-in failed', <Failed />)
    }
    return await completeSignIn(request, reply, { parts, settings, claims, next: authorizationRequest.next })
  })
}

interface ProviderSignIn {
  readonly parts: DashboardContext
  readonly settings: ProviderSettings
  readonly claims: Claims
  readonly next: string
}

async function completeSignIn (
  request: FastifyRequest,
  reply: FastifyReply,
  { parts, settings, claims, next }: ProviderSignIn
): Promise<FastifyReply> {
  const identity = resolveProviderIdentity(claims, settings, settings.issuer)
  if ('reason' in identity) return await rejectSignIn(request, reply, identity.reason)
  try {
    const { memberId } = await parts.control.members.upsertFromProvider(identity)
    await signIn(request, parts, memberId)
    return reply.redirect(next, 303)
  } catch (error) {
    if (!(error instanceof ControlError)) throw error
    return await rejectSignIn(
      request,
      reply,
      error.reason === 'missing' ? 'The organization that you were given to does not exist here.' : error.message
    )
  }
}

async function rejectSignIn (request: FastifyRequest, reply: FastifyReply, reason: string): Promise<FastifyReply> {
  request.log.info({ reason: 'claims' }, 'sign-in refused')
  return await reply.code(403).page('No account', <NotAdmittedPage reason={reason} />)
}

/** Logs only the kind of error: the provider's response may contain codes, tokens and names. */
function logFailure ({ log }: FastifyRequest, error: unknown, what: string): undefined {
  const { name, code } = error as { readonly name?: string, readonly code?: string }
  log.warn({ type: name, code }, what)
}

const getQuery = ({ raw }: FastifyRequest): string => raw.url!.split('?')[1] ?? ''

const encode = (authorizationRequest: AuthorizationRequest): string =>
  Buffer.from(JSON.stringify(authorizationRequest)).toString('base64url')

/** The state from the browser's cookie, which is not trusted; undefined if it is not one of the dashboard's. */
function decode (text: string | undefined): AuthorizationRequest | undefined {
  try {
    const { state, nonce, verifier, next } = JSON.parse(Buffer.from(text ?? '', 'base64url').toString())
    return [state, nonce, verifier, next].every(part => typeof part === 'string')
      ? { state, nonce, verifier, next: sanitizeNextPath(next) }
      : undefined
  } catch {
    return undefined
  }
}

function ProviderDown () {
  return (
    <>
      <h1>No answer</h1>
      <p role='alert'>Your organization's sign-in does not answer. Try again in a minute.</p>
      <BackToSignIn />
    </>
  )
}

function Failed () {
  return (
    <>
      <h1>Sign-in failed</h1>
      <p role='alert'>It took too long, was begun in another browser, or was used before. Begin once more.</p>
      <BackToSignIn />
    </>
  )
}

function NotAdmittedPage ({ reason }: { readonly reason: string }) {
  return (
    <>
      <h1>No account</h1>
      <p role='alert' safe>{reason}</p>
      <p>Ask those who run your organization's sign-in, or the operators of this service.</p>
      <BackToSignIn />
    </>
  )
}

function BackToSignIn () {
  return <p><a class='button' href='/dashboard/sign-in'>Back to the sign-in</a></p>
}
