import { hashSecret } from '../../keys/secret.js'
import type { ControlContext } from './context.js'

/** A browser's session. `memberId` is absent before sign-in; `content` is any JSON object. */
export interface Session {
  readonly memberId?: string
  readonly content: Readonly<Record<string, unknown>>
  readonly expiresAt: Date
}

/** A session as listed for its owner. `idHash` identifies it without granting access. */
export interface ListedSession {
  readonly idHash: string
  readonly createdAt: string
  readonly seenAt: string
  /** The browser that started it, if known. */
  readonly browser?: string
}

/**
 * Server-side sessions of browsers, which can be ended reliably. Ids are stored as hashes, so reading the database does
 * not help to sign in.
 */
export class SessionStore {
  readonly #context: ControlContext

  constructor (context: ControlContext) {
    this.#context = context
  }

  /** The session with this id, unless it has ended. */
  async find (id: string): Promise<Session | undefined> {
    const row = await this.#context.db.selectFrom('sessions').selectAll()
      .where('idHash', '=', hashSecret(id)).where('expiresAt', '>', this.#getIsoTime()).executeTakeFirst()
    return (
      row && {
        ...(row.memberId === null ? {} : { memberId: row.memberId }),
        content: JSON.parse(row.content),
        expiresAt: new Date(row.expiresAt)
      }
    )
  }

  /** Creates or replaces a session. To not bring back a session that was ended elsewhere, look for it first. */
  async save (id: string, { memberId, content, expiresAt }: Session): Promise<void> {
    const at = this.#getIsoTime()
    const changed = {
      memberId: memberId ?? null,
      content: JSON.stringify(content),
      seenAt: at,
      expiresAt: expiresAt.toISOString()
    }
    await this.#context.db.insertInto('sessions').values({ idHash: hashSecret(id), createdAt: at, ...changed })
      .onConflict(conflict => conflict.column('idHash').doUpdateSet(changed)).execute()
  }

  /** Extends a session that has not ended. @returns whether there is one */
  async touch (id: string, expiresAt: Date): Promise<boolean> {
    const { numUpdatedRows } = await this.#context.db
      .updateTable('sessions')
      .set({ seenAt: this.#getIsoTime(), expiresAt: expiresAt.toISOString() })
      .where('idHash', '=', hashSecret(id))
      .where('expiresAt', '>', this.#getIsoTime())
      .executeTakeFirst()
    return numUpdatedRows > 0n
  }

  /** Ends a session. */
  async end (id: string): Promise<void> {
    await this.#context.db.deleteFrom('sessions').where('idHash', '=', hashSecret(id)).execute()
  }

  /** Ends all sessions of a member, or only the one with `idHash`; never the one with the id `except`. */
  async endByMember (
    memberId: string, which: { readonly idHash?: string, readonly except?: string } = {}
  ): Promise<void> {
    await this.#context.db.deleteFrom('sessions').where('memberId', '=', memberId)
      .$if(which.idHash !== undefined, query => query.where('idHash', '=', which.idHash!))
      .$if(which.except !== undefined, query => query.where('idHash', '!=', hashSecret(which.except!))).execute()
  }

  /** The active sessions of a member, most recently used first; at most 100. */
  async listByMember (memberId: string): Promise<ListedSession[]> {
    const rows = await this.#context.db
      .selectFrom('sessions')
      .select(['idHash', 'createdAt', 'seenAt', 'content'])
      .where('memberId', '=', memberId)
      .where('expiresAt', '>', this.#getIsoTime())
      .orderBy('seenAt', 'desc')
      .limit(100)
      .execute()
    return rows.map(({ content, ...row }) => ({ ...row, browser: JSON.parse(content).browser }))
  }

  /** Deletes expired sessions. */
  async sweep (): Promise<void> {
    await this.#context.db.deleteFrom('sessions').where('expiresAt', '<=', this.#getIsoTime()).execute()
  }

  #getIsoTime (): string {
    return this.#context.now().toISOString()
  }
}
