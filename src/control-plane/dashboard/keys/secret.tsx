import type { Scope } from '../../../keys/caller.js'
import { may } from '../../../keys/scopes.js'
import { mappings } from '../../../mappings/registry.js'
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
  const readable = mappings.find(({ path }) => may(scopes, 'read', { resource: path }))?.path
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
      {readable === undefined ? '' : <FirstRequest {...shown} resource={readable} />}
      {previous === undefined ? '' : <Previous {...previous} />}
      <p>
        <a class='button' href={keyPath(keyId)}>
          I have copied it
        </a>
      </p>
    </>
  )
}

function FirstRequest ({ mode, secret, gatewayUrl, resource }: ShownSecret & { readonly resource: string }) {
  const things = resource.replaceAll('-', ' ')
  return (
    <section>
      <h2>A first request</h2>
      <p safe>
        {mode === 'test'
          ? `It lists the ${things} that this key can read. At first there are none.`
          : `It lists the ${things} that this key can read. They are data of real people.`}
      </p>
      <Secret text={`curl -s ${gatewayUrl}/v1/${resource} -H 'x-api-key: ${secret}'`} label='the command' />
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
