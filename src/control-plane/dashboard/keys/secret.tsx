import type { Key } from '../../store/keys.js'
import { Heading, OptionalTime, Secret, ShownOnce, Time } from '../components.js'
import { PostForm, RadioField, SubmitButton, type RadioOption } from '../forms.js'
import { keyPath } from '../paths.js'
import type { Scope } from '../../../keys/caller.js'
import { may } from '../../../keys/scopes.js'
import { mappings } from '../../../mappings/registry.js'
import type { Mode } from '../../../config/mode.js'

const hourMs = 3_600_000

/** How long an old key may stay valid next to the new one. */
export const overlaps: Readonly<
  Record<string, { readonly ms: number; readonly label: string; readonly hint: string }>
> = {
  now: { ms: 0, label: 'Now', hint: 'The old key is revoked at once. For a secret that has leaked.' },
  '1h': { ms: hourMs, label: 'In 1 hour', hint: 'Both keys work until then.' },
  '24h': { ms: 24 * hourMs, label: 'In 24 hours', hint: 'Both keys work until then.' },
  '7d': { ms: 7 * 24 * hourMs, label: 'In 7 days', hint: 'Both keys work until then.' }
}

const choices: readonly RadioOption[] = Object.entries(overlaps).map(([value, { label, hint }]) => ({
  value,
  label,
  hint
}))

/** The form that makes a key which follows another one. */
export function RollPage ({ csrf, apiKey: key }: { readonly csrf: string, readonly apiKey: Key }) {
  return (
    <>
      <Heading
        title={`Roll “${key.name}”`}
        about='Rolling creates a new key with the same name, mode and scopes, and ends the old one.'
      />
      <p>
        Last used: <OptionalTime at={key.lastUsedAt} otherwise='never' />
      </p>
      <PostForm action={keyPath(key.keyId, 'roll')} csrf={csrf}>
        <RadioField label='When the old key ends' name='overlap' choices={choices} value='24h' error={undefined} />
        <SubmitButton label='Roll key' cancel={keyPath(key.keyId)} />
      </PostForm>
    </>
  )
}

/** A key in the only showing of its secret. */
interface SecretPageProps {
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
export function SecretPage (props: SecretPageProps) {
  const { keyId, name, scopes, secret, previous } = props
  const readable = mappings.find(({ path }) => may(scopes, 'read', { resource: path }))?.path
  return (
    <>
      <Heading title={`Key “${name}” created`} />
      <ShownOnce
        heading='Secret'
        text={secret}
        label='the secret'
        risk='Anyone who has it can use the key.'
        next={keyPath(keyId)}
      >
        {readable === undefined ? '' : <FirstRequest {...props} resource={readable} />}
        {previous === undefined ? '' : <Previous {...previous} />}
      </ShownOnce>
    </>
  )
}

function FirstRequest ({ mode, secret, gatewayUrl, resource }: SecretPageProps & { readonly resource: string }) {
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
        ? <p>It was revoked at once. <a href={keyPath(keyId, 'propagation')}>See the state on each gateway</a>.</p>
        : <p>It works until <Time at={expiresAt} />. Give the application the new secret before then.</p>}
    </section>
  )
}
