import cookie from '@fastify/cookie'
import session from '@fastify/session'
import fp from 'fastify-plugin'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { toActor, type Member, type OpenedMember } from '../store/members.js'
import { createControlService, type ControlService } from '../store/control-service.js'
import type { ControlStore } from '../store/store.js'
import { base62, randomString } from '../../keys/random-text.js'
import type { Cookies } from './options.js'
import { signInPath, signOutPath } from './paths.js'
import {
  computeSessionEnd, sessionIdSigner, createLibraryStore, createSessionId, type SessionBounds
} from './session-store.js'
import { findFormPage } from './sign-in/next.js'

interface SessionOptions {
  readonly control: ControlStore
  readonly now: () => Date
  readonly bounds: SessionBounds
  readonly cookies: Cookies
}

/** The minimum interval between extensions of a session, since each is a write. */
const touchedEveryMs = 60_000

/**
 * Finds the member of a request by the session in its cookie, as stored now. A session is written at the sign-in and
 * never again, only extended while it exists: a request in progress can't bring back a session that was ended.
 */
export const sessions = fp<SessionOptions>(async (app, { control, now, bounds, cookies }) => {
  await app.register(cookie)
  await app.register(session, {
    secret: sessionIdSigner,
    idGenerator: createSessionId,
    cookieName: cookies.session,
    cookie: { path: '/', httpOnly: true, sameSite: 'lax', secure: cookies.flags.secure === true },
    rolling: false,
    saveUninitialized: false,
    store: createLibraryStore({ sessions: control.sessions, now, ...bounds })
  })
  app.decorateRequest('visitor', undefined)
  app.addHook('onRequest', async (request, reply) => {
    const { memberId } = request.session
    if (memberId === undefined) return
    request.visitor = await control.members.find(memberId)
    if (request.visitor === undefined) return await signOut(request, reply, cookies)
    await extendSession(request, { control, now, bounds })
  })
}, { name: 'dashboard-sessions', fastify: '5.x' })

/**
 * Admits only members, and sets the control service of their requests; without a session a page redirects to the
 * sign-in.
 */
export const signedInMembers = fp<Pick<SessionOptions, 'control' | 'cookies'>>(async (app, { control, cookies }) => {
  app.decorateRequest('member', null as never)
  app.decorateRequest('controlService', null as never)
  app.addHook('onRequest', async (request, reply) => {
    const { visitor } = request
    if (visitor === undefined) {
      return await (isSignOut(request)
        ? endSession(reply)
        : reply.done(getSignInUrl(request), getSignInNotice(request, cookies)))
    }
    if (visitor.mustChangePassword && !reachable.has(request.routeOptions.url ?? '')) {
      return await reply.redirect('/dashboard/password', 303)
    }
    request.member = visitor
    request.controlService = createControlService(control, toActor(visitor))
  })
}, { name: 'dashboard-members', dependencies: ['dashboard-sessions', 'dashboard-pages'], fastify: '5.x' })

/** The text for a visitor who was signed in, or who sent a form; undefined for a visitor who just arrives. */
function getSignInNotice ({ method, cookies }: FastifyRequest, { session }: Cookies): string | undefined {
  if (method === 'POST') {
    return 'You were signed out before this was saved. Nothing was changed. Sign in to go back to it.'
  }
  return cookies[session] === undefined ? undefined : 'Your session has ended. Sign in again.'
}

/** Redirects a member who signed out to the sign-in. */
export function endSession (reply: FastifyReply): FastifyReply {
  return reply.done(signInPath, 'You are signed out.')
}

const isSignOut = ({ method, routeOptions }: FastifyRequest): boolean =>
  method === 'POST' && routeOptions.url === signOutPath

/** The paths open to a member who must change the password first. */
const reachable = new Set(['/dashboard/password', signOutPath])

type Parts = Pick<SessionOptions, 'control' | 'now'>

/** Begins a session under a new id; an earlier session of the browser is not continued. */
export async function signIn (request: FastifyRequest, parts: Parts, memberId: string): Promise<void> {
  await beginSession(request, toSessionContent(request, parts, memberId))
  await recordSignIn(parts, memberId)
}

/**
 * The same after a password was verified. @returns the member; undefined, without a session, if the password has
 * changed since
 */
export async function signInByPassword (
  request: FastifyRequest,
  parts: Parts,
  opened: SessionMember
): Promise<Member | undefined> {
  const member = await renewSession(request, parts, opened)
  if (member !== undefined) await recordSignIn(parts, member.memberId)
  return member
}

/**
 * Continues the session under a new id, if the password is still the verified one. @returns the member; undefined,
 * without a session, if it is not
 */
export async function renewSession (
  request: FastifyRequest,
  parts: Parts,
  opened: SessionMember
): Promise<Member | undefined> {
  const { members } = parts.control
  if ((await members.findOpened(opened)) === undefined) return undefined
  await beginSession(request, toSessionContent(request, parts, opened.memberId))
  // Checked again: a change of the password ends the existing sessions, and this one may not have existed yet.
  const member = await members.findOpened(opened)
  if (member === undefined) await request.session.destroy()
  return member
}

type SessionMember = Pick<OpenedMember, 'memberId' | 'proof'>

const toSessionContent = ({ headers }: FastifyRequest, { now }: Parts, memberId: string) => ({
  memberId,
  startedAt: now().toISOString(),
  browser: parseBrowserName(headers['user-agent'])
})

async function recordSignIn ({ control }: Parts, memberId: string): Promise<void> {
  await control.members.recordSignIn(memberId)
  await control.sessions.sweep()
}

/** Begins the session of a person whose password matches several members, one of which is to be chosen. */
export async function offerAccounts (request: FastifyRequest, opened: readonly OpenedMember[]): Promise<void> {
  await beginSession(request, { opened: opened.map(({ memberId, proof }) => ({ memberId, proof })) })
}

/** Ends the session on the server and in the browser. */
export async function signOut (
  request: FastifyRequest,
  reply: FastifyReply,
  { session, flags }: Cookies
): Promise<void> {
  await request.session.destroy()
  reply.clearCookie(session, flags)
}

async function beginSession (request: FastifyRequest, content: Partial<FastifyRequest['session']>): Promise<void> {
  await request.session.regenerate()
  Object.assign(request.session, content, { _csrf: randomString(base62, 24) })
  // By name: behind a proxy that terminates TLS, the library would not do it.
  await request.session.save()
}

async function extendSession (
  { session }: FastifyRequest,
  { control, now, bounds }: Omit<SessionOptions, 'cookies'>
): Promise<void> {
  const end = computeSessionEnd(new Date(session.startedAt!), now(), bounds)
  const gained = end.getTime() - new Date(session.endsAt!).getTime()
  if (gained >= Math.min(touchedEveryMs, bounds.idleMinutes * 6_000)) {
    await control.sessions.touch(session.sessionId, end)
  }
}

/** The sign-in, which leads to the page that was requested or on which a form stood. */
function getSignInUrl (request: FastifyRequest): string {
  const next = request.method === 'GET' ? request.raw.url : findFormPage(request)
  return next === undefined ? signInPath : `${signInPath}?${new URLSearchParams({ next })}`
}

declare module 'fastify' {
  interface FastifyRequest {
    /** The member who signed in with this browser, as stored now; undefined if there is none. */
    visitor: Member | undefined
    /** The requesting member, on the pages that need one. */
    member: Member
    /** The control plane with the member's permissions, on the same pages. */
    controlService: ControlService
  }
}

/** Words of the header that identify browsers; the first match counts, since most name others too. */
const browsers: ReadonlyArray<readonly [RegExp, string]> = [
  [/\bEdg(A|iOS)?\//, 'Edge'],
  [/\bOPR\//, 'Opera'],
  [/\bSamsungBrowser\//, 'Samsung Internet'],
  [/\b(Firefox|FxiOS)\//, 'Firefox'],
  [/\b(Chrome|HeadlessChrome|CriOS)\//, 'Chrome'],
  [/\bSafari\//, 'Safari']
]

const systems: ReadonlyArray<readonly [RegExp, string]> = [
  [/\biPhone\b/, 'iPhone'],
  [/\biPad\b/, 'iPad'],
  [/\bAndroid\b/, 'Android'],
  [/\bWindows\b/, 'Windows'],
  [/\bMac OS X\b/, 'macOS'],
  [/\bCrOS\b/, 'ChromeOS'],
  [/\bLinux\b/, 'Linux']
]

/** A browser in words, such as `Firefox on Windows`, by the header User-Agent; undefined if the header names none. */
export function parseBrowserName (userAgent = ''): string | undefined {
  const [browser, system] = [browsers, systems].map(known => known.find(([word]) => word.test(userAgent))?.[1])
  return browser === undefined || system === undefined ? browser : `${browser} on ${system}`
}
