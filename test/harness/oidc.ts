import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Provider, type Configuration } from 'oidc-provider'
import type { Test } from 'tap'

/** A person as a provider knows it; `sub` names it. */
export type Person = Readonly<Record<string, unknown>> & { readonly sub: string }

/** A real OpenID provider in this process, whose users sign in without a login page. */
export interface TestProvider {
  readonly issuer: string
  /** The person at the browser from now on. */
  readonly person: { current: Person }
  /** Follows a browser through the provider. @returns the address at which it leaves */
  readonly visit: (url: string) => Promise<URL>
  /** Every request that the provider got so far, as method and path. */
  readonly requested: readonly string[]
  readonly stop: () => Promise<void>
}

interface ProviderOptions {
  readonly callbackUrl: string
  /** Absent: a free one. */
  readonly port?: number
  readonly secret?: string
  readonly method?: 'client_secret_basic' | 'client_secret_post'
  /** Whether the ID token holds all claims, and not only the UserInfo endpoint. */
  readonly includesClaimsInIdToken?: boolean
}

export async function startProvider (t: Test, options: ProviderOptions): Promise<TestProvider> {
  const person: { current: Person } = { current: { sub: 'nobody' } }
  const requested: string[] = []
  const server = createServer()
  await new Promise<void>(resolve => server.listen(options.port ?? 0, '127.0.0.1', resolve))
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const provider = new Provider(issuer, buildConfiguration(options, person))
  const handle = provider.callback()
  server.on('request', (request, response) => {
    requested.push(`${request.method} ${request.url!.split('?')[0]}`)
    if (!request.url!.startsWith('/interaction/')) return handle(request, response)
    provider
      .interactionFinished(
        request,
        response,
        { login: { accountId: person.current.sub } },
        { mergeWithLastSubmission: false }
      )
      .catch(error => response.destroy(error))
  })
  const stop = () => close(server)
  t.after(stop)
  return { issuer, person, requested, stop, visit: url => follow(url, issuer) }
}

function buildConfiguration (
  { callbackUrl, secret, method = 'client_secret_basic', includesClaimsInIdToken = false }: ProviderOptions,
  person: { readonly current: Person }
): Configuration {
  return {
    clients: [
      {
        client_id: 'clinigate',
        redirect_uris: [callbackUrl],
        ...(secret === undefined
          ? { token_endpoint_auth_method: 'none' }
          : { client_secret: secret, token_endpoint_auth_method: method })
      }
    ],
    clientAuthMethods: ['none', method],
    scopes: ['openid', 'email', 'profile', 'clinic'],
    claims: {
      openid: ['sub'],
      email: ['email', 'email_verified'],
      profile: ['name'],
      clinic: ['role', 'organization']
    },
    conformIdTokenClaims: !includesClaimsInIdToken,
    cookies: { keys: ['for tests'] },
    features: { devInteractions: { enabled: false } },
    interactions: { url: (_, { uid }) => `/interaction/${uid}` },
    findAccount: (_, accountId) => ({ accountId, claims: async () => ({ ...person.current, sub: accountId }) }),
    loadExistingGrant: async ctx => {
      const grant = new ctx.oidc.provider.Grant({ clientId: 'clinigate', accountId: ctx.oidc.session!.accountId! })
      grant.addOIDCScope('openid email profile clinic')
      await grant.save()
      return grant
    }
  }
}

async function follow (start: string, issuer: string): Promise<URL> {
  const cookies = new Map<string, string>()
  let url = new URL(start)
  for (let hops = 0; url.origin === issuer; hops++) {
    if (hops > 10) throw new Error('the provider leads in a circle')
    const response = await fetch(url, {
      redirect: 'manual',
      headers: { cookie: [...cookies].map(pair => pair.join('=')).join('; ') }
    })
    for (const line of response.headers.getSetCookie()) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(line)!
      cookies.set(name!, value!)
    }
    const location = response.headers.get('location')
    if (location === null) {
      throw new Error(`the provider answered ${response.status}: ${(await response.text()).slice(0, 300)}`)
    }
    url = new URL(location, url)
  }
  return url
}

function close (server: Server): Promise<void> {
  server.closeAllConnections()
  return new Promise(resolve => server.close(() => resolve()))
}
