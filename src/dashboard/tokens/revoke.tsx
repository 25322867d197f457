import type { Token } from '../../control/token-store.js'
import { Heading, Time } from '../elements.js'
import { PostForm, Send } from '../forms.js'
import { tokenPath, tokensPath } from '../paths.js'

/** Asks whether a token is really to be revoked. */
export function RevokeTokenPage ({ csrf, token }: { readonly csrf: string, readonly token: Token }) {
  return (
    <>
      <Heading title={`Revoke the token “${token.name}”?`} />
      <p>Secret <code safe>{`…${token.hint}`}</code>, made <Time at={token.createdAt} />.</p>
      <p>{token.role === 'gateway' ? 'The gateway that shows it goes on with the keys that it knows, and learns of no change any more.' : 'The program that shows it is refused from its next request on.'} Nothing brings it back.</p>
      <PostForm action={tokenPath(token.tokenId, 'revoke')} csrf={csrf}>
        <Send label='Revoke token' cancel={tokensPath(token.tenantId)} isDangerous />
      </PostForm>
    </>
  )
}
