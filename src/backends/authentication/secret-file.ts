import { readFile } from 'node:fs/promises'
import { setTimeout as pause } from 'node:timers/promises'
import { CredentialError, toLoggableCode, type Credential, type CredentialSource } from './credential-source.js'

interface SecretFileOptions {
  readonly path: string
  /** Its content at startup. */
  readonly text: string
  /** Builds the header from a secret. */
  readonly formatHeader: (secret: string) => string
}

/** A file is read again after this time, if there is a request. */
const lifetimeMs = 2_000

/** A changed content is used if it is the same after this time, so that a half-written file is not used. */
const settledMs = 50
const maxReads = 20

/**
 * A secret in a file that is replaced from time to time. A new secret is used within two seconds. While the file can't
 * be read, is empty or does not contain a valid secret, the last valid one is used.
 */
export class SecretFile implements CredentialSource {
  readonly #options: SecretFileOptions
  #lastValid: string

  constructor (options: SecretFileOptions) {
    this.#options = options
    this.#lastValid = options.text
  }

  async fetchCredential (): Promise<Credential> {
    const { path, formatHeader } = this.#options
    const text = await readSettledText(path, this.#lastValid).catch((error: unknown) => toCredentialError(error))
    const failure =
      text instanceof CredentialError
        ? text
        : isSecret(text)
          ? undefined
          : new CredentialError('the credential file is empty or contains a character that is not valid in a header')
    if (failure === undefined) this.#lastValid = text as string
    return { header: formatHeader(this.#lastValid), lifetimeMs, ...failure && { error: failure } }
  }
}

/** Whether a text is a valid header value: printable ASCII. */
function isSecret (text: string): boolean {
  return /^[\x20-\x7e]+$/.test(text)
}

async function readSettledText (path: string, known: string): Promise<string> {
  let text = await readText(path)
  for (let reads = 0; text !== known; reads++) {
    if (reads === maxReads) throw new CredentialError('the credential file keeps changing')
    await pause(settledMs)
    const later = await readText(path)
    if (later === text) break
    text = later
  }
  return text
}

async function readText (path: string): Promise<string> {
  return (await readFile(path, 'utf8')).trim()
}

function toCredentialError (error: unknown): CredentialError {
  if (error instanceof CredentialError) return error
  return new CredentialError('the credential file cannot be read', {
    code: toLoggableCode((error as { code?: unknown }).code)
  })
}
