import type { OwnedWebhook } from '../../store/desk.js'
import { Heading, Secret } from '../components.js'
import { PostForm, SubmitButton } from '../forms.js'
import { webhookPath } from '../paths.js'

interface Confirmation { readonly csrf: string, readonly webhook: OwnedWebhook }

/** The confirmation page for deleting a webhook. */
export function DeleteWebhookPage ({ csrf, webhook: { id, url } }: Confirmation) {
  return (
    <>
      <Heading title='Delete this webhook?' about={url} />
      <p>Nothing more is sent to it, and its deliveries are deleted. This cannot be undone.</p>
      <PostForm action={webhookPath(id, 'remove')} csrf={csrf}>
        <SubmitButton label='Delete webhook' cancel={webhookPath(id)} isDangerous />
      </PostForm>
    </>
  )
}

/** The confirmation page for a new secret. */
export function RollWebhookPage ({ csrf, webhook: { id, url } }: Confirmation) {
  return (
    <>
      <Heading title='Roll the secret?' about={url} />
      <p>
        A new secret is shown once. For a day each event has two signatures, one of the old secret and one of the new,
        so that the receiver can change over without losing any.
      </p>
      <PostForm action={webhookPath(id, 'roll')} csrf={csrf}>
        <SubmitButton label='Roll secret' cancel={webhookPath(id)} />
      </PostForm>
    </>
  )
}

/** The page that shows a secret, once. */
export function WebhookSecretPage (
  { webhook: { id, url }, secret }: { readonly webhook: OwnedWebhook, readonly secret: string }
) {
  return (
    <>
      <Heading title='The secret of the webhook' about={url} />
      <section class='notice notice-warning'>
        <p>
          <strong>Copy the secret now.</strong> It is shown only here, only once.
        </p>
      </section>
      <section>
        <h2>Secret</h2>
        <Secret text={secret} label='the secret' />
        <p>The receiver verifies the signature of each event with it, by any library of Standard Webhooks.</p>
      </section>
      <p>
        <a class='button' href={webhookPath(id)}>
          I have copied it
        </a>
      </p>
    </>
  )
}
