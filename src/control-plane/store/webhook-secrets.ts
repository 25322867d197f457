import { createSecretKey, randomBytes } from 'node:crypto'
import { decrypt, encrypt, nonceBytes } from '../../files/authenticated-encryption.js'

/**
 * Encrypts the secrets of webhooks, which unlike keys must be read again to sign. A copy of the database alone does not
 * suffice to sign.
 */
export interface SecretSealer {
  /** @param webhookId binds the result to the webhook, so that it is not valid in the row of another */
  readonly seal: (secret: string, webhookId: string) => string
  /** Undefined if another key sealed it, or it was changed. */
  readonly open: (sealed: string, webhookId: string) => string | undefined
}

/**
 * Seals with AES-256-GCM.
 * @param secretKey 32 bytes, the same in all processes of the control plane; without it nothing can be sealed or opened
 */
export function createSecretSealer (secretKey: Uint8Array | undefined): SecretSealer {
  const key = secretKey && createSecretKey(secretKey)
  return {
    seal (secret, webhookId) {
      if (key === undefined) throw new Error('this process has no key for the secrets of webhooks')
      const nonce = randomBytes(nonceBytes)
      const sealed = encrypt({ key, nonce, associatedData: Buffer.from(webhookId) }, Buffer.from(secret))
      return Buffer.concat([nonce, ...sealed]).toString('base64')
    },
    open (sealed, webhookId) {
      if (key === undefined) return undefined
      const bytes = Buffer.from(sealed, 'base64')
      const nonce = bytes.subarray(0, nonceBytes)
      return decrypt({ key, nonce, associatedData: Buffer.from(webhookId) }, bytes.subarray(nonceBytes))?.toString()
    }
  }
}
