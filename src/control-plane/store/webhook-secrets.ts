import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'

const nonceBytes = 12
const tagBytes = 16

/**
 * Encrypts the secrets of webhooks, which unlike keys must be read again to sign. A copy of the database alone does not
 * let anyone sign.
 */
export interface SecretSealer {
  /** @param webhookId binds the result to the webhook, so that it is not valid in the row of another */
  readonly seal: (secret: string, webhookId: string) => string
  /** Undefined if another key sealed it, or it was changed. */
  readonly open: (sealed: string, webhookId: string) => string | undefined
}

/**
 * Seals with AES-256-GCM.
 * @param key 32 bytes, the same in all processes of the control plane; without it nothing can be sealed or opened
 */
export function secretSealer (key: Uint8Array | undefined): SecretSealer {
  return {
    seal (secret, webhookId) {
      if (key === undefined) throw new Error('this process has no key for the secrets of webhooks')
      const nonce = randomBytes(nonceBytes)
      const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(webhookId))
      return Buffer.concat([nonce, cipher.update(secret, 'utf8'), cipher.final(), cipher.getAuthTag()])
        .toString('base64')
    },
    open (sealed, webhookId) {
      if (key === undefined) return undefined
      const bytes = Buffer.from(sealed, 'base64')
      try {
        const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, nonceBytes), { authTagLength: tagBytes })
        decipher.setAAD(Buffer.from(webhookId)).setAuthTag(bytes.subarray(-tagBytes))
        return Buffer.concat([decipher.update(bytes.subarray(nonceBytes, -tagBytes)), decipher.final()]).toString()
      } catch {
        return undefined
      }
    }
  }
}
