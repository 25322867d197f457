import type { Scope } from '../../../keys/caller.js'
import { hasScope } from '../../../keys/scopes.js'
import type { Mode } from '../../../config/mode.js'
import { Heading, Secret, Time } from '../components.js'
import { keyPath } from '../paths.js'

/** A key in the only showing of its secret. */
interface ShownSecret {
  readonly keyId: string
  readonly name: string
  readonly mode: Mode
  readonly scopes: readonly Scope[]
  readonly secret: string
  /** The URL of the gateway. */
  readonly gatewayUrl: string
  /** The key that it follows, with the end of it. */
  readonly previous?: { readonly keyId: string, readonly expiresAt?: string }
}

/** The page that shows a new key's secret, once. */
export function SecretPage (shown: ShownSecret) {
  const { keyId, name, scopes, secret, previous } = shown
  return (
    <>
      <Heading title={`Key “${name}” created`} />
      <section class='notice notice-warning'>
        <p>
          <strong>Copy the secret now.</strong> It is shown only here, only once. Anyone who has it can use the key.
        </p>
      </section>
      <section>
        <h2>Secret</h2>
        <Secret text={secret} label='the secret' />
      </section>
      {hasScope(scopes, 'read') ? <FirstRequest {...shown} /> : ''}
      {previous === undefined ? '' : <Previous {...previous} />}
      <p>
        <a class='button' href={keyPath(keyId)}>
          I have copied it
        </a>
      </p>
    </>
  )
}

function FirstRequest ({ mode, secret, gatewayUrl }: ShownSecret) {
  return (
    <section>
      <h2>A first request</h2>
      <p>
        {mode === 'test'
          ? 'It lists the patients that this key can read. At first there are none.'
          : 'It lists the patients that this key can read. They are real people.'}
      </p>
      <Secret text={`curl -s ${gatewayUrl}/v1/patients -H 'x-api-key: ${secret}'`} label='the command' />
    </section>
  )
}

function Previous ({ keyId, expiresAt }: { readonly keyId: string, readonly expiresAt?: string }) {
  return (
    <section>
      <h2>The old key</h2>
      {expiresAt === undefined
        ? <p>It was revoked at once. <a href={keyPath(keyId, 'reach')}>See the state on each gateway</a>.</p>
        : <p>It works until <Time at={expiresAt} />. Give the application the new secret before then.</p>}
    </section>
  )
}
