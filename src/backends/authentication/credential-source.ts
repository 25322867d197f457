/** A header and how long it serves. */
export interface Credential {
  readonly header: string
  /** From now on; it is renewed before. */
  readonly goodForMs: number
  /** Why it is not newer, when it should be. */
  readonly trouble?: CredentialTrouble
}

/** Where the credentials of one datastore come from: a file, or a server that issues tokens. */
export interface CredentialSource {
  /** Asked by one caller at a time. @throws {CredentialTrouble} */
  next (signal: AbortSignal): Promise<Credential>
  close? (): Promise<void>
}

/** Facts for the log; none is secret. */
interface TroubleFacts {
  /** A code of the system, of OAuth 2.0 or of Entra ID. */
  readonly code?: string | undefined
  /** Of a token server's answer. */
  readonly status?: number | undefined
  /** What the token server asked for. */
  readonly retryAfterSeconds?: number | undefined
}

/** Why there is no new credential. The reason is a sentence of ours, since what servers and libraries say may repeat a secret. */
export class CredentialTrouble extends Error {
  constructor (readonly reason: string, readonly facts: TroubleFacts = {}) {
    super(reason)
    this.name = 'CredentialTrouble'
  }
}

/** A code as it may be logged: one that is none of the usual words is left out. */
export function knownCode (code: unknown): string | undefined {
  return typeof code === 'string' && /^[A-Za-z][\w-]{1,63}$/.test(code) ? code : undefined
}
