import { readFile } from 'node:fs/promises'
import { setTimeout as pause } from 'node:timers/promises'
import { CredentialTrouble, knownCode, type Credential, type CredentialSource } from './credential-source.js'

interface SecretFileOptions {
  readonly path: string
  /** What it held at the start. */
  readonly text: string
  /** The header that a secret stands for. */
  readonly headerOf: (secret: string) => string
}

/** A file is looked at again after so long, when there is a request. */
const goodForMs = 2_000

/** A change counts when it is the same after so long, so that nobody is taken at half a word. */
const settledMs = 50
const mostLooks = 20

/**
 * A secret in a file that is replaced from time to time: the new one is in force within two seconds. While the file cannot be
 * read, is empty or holds what is no secret, the last good one serves.
 */
export class SecretFile implements CredentialSource {
  readonly #options: SecretFileOptions
  #good: string

  constructor (options: SecretFileOptions) {
    this.#options = options
    this.#good = options.text
  }

  async next (): Promise<Credential> {
    const { path, headerOf } = this.#options
    const text = await settledText(path, this.#good).catch((error: unknown) => troubleOf(error))
    const trouble = text instanceof CredentialTrouble ? text : isSecret(text) ? undefined : new CredentialTrouble('the credential file is empty or contains a character that is not valid in a header')
    if (trouble === undefined) this.#good = text as string
    return { header: headerOf(this.#good), goodForMs, ...trouble && { trouble } }
  }
}

/** Whether a header can carry it; any other character would end the header. */
function isSecret (text: string): boolean {
  return /^[\x20-\x7e]+$/.test(text)
}

async function settledText (path: string, known: string): Promise<string> {
  let text = await textOf(path)
  for (let looks = 0; text !== known; looks++) {
    if (looks === mostLooks) throw new CredentialTrouble('the credential file keeps changing')
    await pause(settledMs)
    const later = await textOf(path)
    if (later === text) break
    text = later
  }
  return text
}

async function textOf (path: string): Promise<string> {
  return (await readFile(path, 'utf8')).trim()
}

function troubleOf (error: unknown): CredentialTrouble {
  if (error instanceof CredentialTrouble) return error
  return new CredentialTrouble('the credential file cannot be read', { code: knownCode((error as { code?: unknown }).code) })
}
