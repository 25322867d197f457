import type { Token } from '../../store/token-store.js'
import { Heading, Time } from '../components.js'
import { PostForm, SubmitButton } from '../forms.js'
import { tokenPath, tokensPath } from '../paths.js'

/** Asks whether a token is really to be revoked. */
export function RevokeTokenPage ({ csrf, token }: { readonly csrf: string, readonly token: Token }) {
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
