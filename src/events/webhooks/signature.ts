import { createHmac, randomBytes } from 'node:crypto'

const prefix = 'whsec_'
const secretBytes = 32

/** A new secret of a webhook: `whsec_` and 32 random bytes in base64. */
export function generateWebhookSecret (): string {
  return prefix + randomBytes(secretBytes).toString('base64')
}

/** A sent message: its id, the time of the attempt and the body, byte for byte. */
interface SignedMessage {
  readonly id: string
  readonly at: Date
  readonly body: string
}

/**
 * The headers of a message by the Standard Webhooks specification
 * (https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md): one signature for each
 * secret, of which a receiver needs to know one.
 */
export function buildSignatureHeaders (
  { id, at, body }: SignedMessage, secrets: readonly string[]
): Record<string, string> {
  const timestamp = String(Math.floor(at.getTime() / 1_000))
  const sign = (secret: string): string => {
    const key = Buffer.from(secret.slice(prefix.length), 'base64')
    return `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')}`
  }
  return {
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': secrets.map(sign).join(' ')
  }
}
