import type { Token } from '../../store/token-store.js'
import { Heading, Secret } from '../components.js'
import { home, tokensPath } from '../paths.js'

/** The page that shows a new token's secret, once, and how it is used. */
export function TokenSecretPage ({
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
      <section class='notice notice-warning'>
        <p>
          <strong>Copy the token now.</strong> It is shown only here, only once.
        </p>
      </section>
      <section>
        <h2>Token</h2>
        <Secret text={secret} label='the token' />
      </section>
      <section>
        <h2>{isGateway ? 'Start the gateway' : 'A first request'}</h2>
        <Secret text={command} label='the command' />
        {isGateway
          ? (
            <p>
              Once it runs, it appears under <a href={`${home}/gateways`}>Gateways</a>.
            </p>
            )
          : (
              ''
            )}
      </section>
      <p>
        <a class='button' href={tokensPath(token.tenantId)}>
          I have copied it
        </a>
      </p>
    </>
  )
}
