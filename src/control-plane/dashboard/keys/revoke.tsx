import type { Key } from '../../store/keys.js'
import { Badge, Heading, OptionalTime } from '../components.js'
import { PostForm, SubmitButton } from '../forms.js'
import { keyPath } from '../paths.js'

/** The confirmation page for revoking a key. */
export function RevokePage ({ csrf, shown: key }: { readonly csrf: string, readonly shown: Key }) {
  return (
    <>
      <Heading title={`Revoke “${key.name}”?`} />
      <p>
        <Badge tone={key.mode} text={key.mode} />{' '}
        Secret <code safe>{`…${key.hint}`}</code>, last used: <OptionalTime at={key.lastUsedAt} otherwise='never' />
      </p>
      <p>All gateways refuse it within a second. This cannot be undone.</p>
      <PostForm action={keyPath(key.keyId, 'revoke')} csrf={csrf}>
        <SubmitButton label='Revoke key' cancel={keyPath(key.keyId)} isDangerous />
      </PostForm>
    </>
  )
}
