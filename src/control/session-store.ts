import { hashSecret } from '../keys/secret.js'
import type { ControlContext } from './context.js'

/** What a browser's session holds; `memberId` is absent before the sign-in, `content` is anything that JSON carries. */
export interface Session {
  readonly memberId?: string
  readonly content: Readonly<Record<string, unknown>>
  readonly expiresAt: Date
}

/** A session as its owner sees it in a list; `idHash` names it without opening it. */
export interface ListedSession {
  readonly idHash: string
  readonly createdAt: string
  readonly seenAt: string
  /** The browser in which it began, where that is known. */
  readonly browser?: string
}

/** Sessions of browsers on the server's side, so that ending one is sure. Ids are kept as hashes: who reads the database can't sign in with it. */
export class SessionStore {
  readonly #context: ControlContext

  constructor (context: ControlContext) {
    this.#context = context
  }

  /** The session with this id, unless it has ended. */
  async find (id: string): Promise<Session | undefined> {
    const row = await this.#context.db.selectFrom('sessions').selectAll()
      .where('idHash', '=', hashSecret(id)).where('expiresAt', '>', this.#at()).executeTakeFirst()
    return row && { ...(row.memberId === null ? {} : { memberId: row.memberId }), content: JSON.parse(row.content), expiresAt: new Date(row.expiresAt) }
  }

  /** Keeps a session, anew or again; one that was ended meanwhile by a sign-out elsewhere must be looked for first. */
  async save (id: string, { memberId, content, expiresAt }: Session): Promise<void> {
    const at = this.#at()
    const changed = { memberId: memberId ?? null, content: JSON.stringify(content), seenAt: at, expiresAt: expiresAt.toISOString() }
    await this.#context.db.insertInto('sessions').values({ idHash: hashSecret(id), createdAt: at, ...changed })
      .onConflict(conflict => conflict.column('idHash').doUpdateSet(changed)).execute()
  }

  /** Keeps the session alive where it still is. @returns whether it is */
  async touch (id: string, expiresAt: Date): Promise<boolean> {
    const { numUpdatedRows } = await this.#context.db.updateTable('sessions').set({ seenAt: this.#at(), expiresAt: expiresAt.toISOString() })
      .where('idHash', '=', hashSecret(id)).where('expiresAt', '>', this.#at()).executeTakeFirst()
    return numUpdatedRows > 0n
  }

  /** Ends a session. */
  async end (id: string): Promise<void> {
    await this.#context.db.deleteFrom('sessions').where('idHash', '=', hashSecret(id)).execute()
  }

  /** Ends one or all of a member's sessions, but one that is kept. */
  async endOf (memberId: string, which: { readonly idHash?: string, readonly except?: string } = {}): Promise<void> {
    await this.#context.db.deleteFrom('sessions').where('memberId', '=', memberId)
      .$if(which.idHash !== undefined, query => query.where('idHash', '=', which.idHash!))
      .$if(which.except !== undefined, query => query.where('idHash', '!=', hashSecret(which.except!))).execute()
  }

  /** The sessions of a member that go on, the latest first. */
  async listOf (memberId: string): Promise<ListedSession[]> {
    const rows = await this.#context.db.selectFrom('sessions').select(['idHash', 'createdAt', 'seenAt', 'content'])
      .where('memberId', '=', memberId).where('expiresAt', '>', this.#at()).orderBy('seenAt', 'desc').limit(100).execute()
    return rows.map(({ content, ...row }) => ({ ...row, browser: JSON.parse(content).browser }))
  }

  /** Forgets those that have ended. */
  async sweep (): Promise<void> {
    await this.#context.db.deleteFrom('sessions').where('expiresAt', '<=', this.#at()).execute()
  }

  #at (): string {
    return this.#context.now().toISOString()
  }
}
