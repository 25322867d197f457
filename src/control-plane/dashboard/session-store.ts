import type { FastifySessionObject, SessionStore as LibraryStore } from '@fastify/session'
import type { Session as FastifySession } from 'fastify'
import type { OpenedMember } from '../store/members.js'
import type { Session, SessionStore } from '../store/session-store.js'
import { base62, randomString } from '../../keys/random-text.js'

/** How long sessions last: after the last request, and at most after the sign-in. */
export interface SessionBounds { readonly idleMinutes: number, readonly hours: number }

interface StoreParts extends SessionBounds {
  readonly sessions: SessionStore
  readonly now: () => Date
}

/** How long a person has to choose an organization. */
const choiceMs = 5 * 60_000

/**
 * The content of the cookie: 256 random bits, which is all that a session needs, so that there is no secret to store,
 * share or rotate.
 */
export const createSessionId = (): string => randomString(base62, 43)

/** In place of a signature: whether the text can be an id at all, before any look-up. */
export const sessionIdSigner = {
  sign: (id: string): string => id,
  unsign: (text: string) => {
    const valid = /^[0-9A-Za-z]{43}$/.test(text)
    return { valid, renew: false, value: valid ? text : null }
  }
}

/** The end of a session that began then and is requested now. */
export function computeSessionEnd (startedAt: Date, now: Date, { idleMinutes, hours }: SessionBounds): Date {
  return new Date(Math.min(now.getTime() + idleMinutes * 60_000, startedAt.getTime() + hours * 3_600_000))
}

/** The sessions of the control plane, in the shape that the library requests. */
export function createLibraryStore ({ sessions, now, ...bounds }: StoreParts): LibraryStore {
  return {
    set: (id, session, done) => { sessions.save(id, toStoredSession(session, now(), bounds)).then(() => done(), done) },
    get: (id, done) => { sessions.find(id).then(found => done(null, found && toFastifySession(found)), done) },
    destroy: (id, done) => { sessions.end(id).then(() => done(), done) }
  }
}

function toStoredSession (
  { memberId, startedAt = '', browser, opened, _csrf }: FastifySession,
  now: Date,
  bounds: SessionBounds
): Session {
  const expiresAt =
    memberId === undefined ? new Date(now.getTime() + choiceMs) : computeSessionEnd(new Date(startedAt), now, bounds)
  return { memberId, content: { startedAt, browser, opened, _csrf }, expiresAt }
}

function toFastifySession ({ memberId, content, expiresAt }: Session): FastifySessionObject {
  return { ...content, memberId, endsAt: expiresAt.toISOString() } as unknown as FastifySessionObject
}

declare module 'fastify' {
  interface Session {
    /** The member of the session; absent until a sign-in. */
    memberId?: string
    /** When the person signed in, ISO 8601. */
    startedAt?: string
    /** The browser in which it began, in words such as `Firefox on Windows`. */
    browser?: string
    /** When it ends unless something is requested, ISO 8601. */
    endsAt?: string
    /** The members that a password opened, one of which the person is still to choose. */
    opened?: ReadonlyArray<Pick<OpenedMember, 'memberId' | 'proof'>>
    /** The secret behind the tokens in the forms of this session. */
    _csrf?: string
  }
}
