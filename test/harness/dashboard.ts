import { randomUUID } from 'node:crypto'
import type { Role } from '../../src/config/actor.js'
import type { Member } from '../../src/control-plane/store/members.js'
import { createSessionId } from '../../src/control-plane/dashboard/session-store.js'
import type { TestGateway } from './gateway.js'

/** A page as a browser gets it. */
export interface Page {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly html: string
  /** The visible text: no tags, entities resolved, spaces as one. */
  readonly text: string
}

/** A browser without a screen: keeps cookies, sends forms with the token of the page they are on. */
export interface Visitor {
  /** By name, as the browser has them now. */
  readonly cookies: Map<string, string>
  readonly get: (path: string, headers?: Readonly<Record<string, string>>) => Promise<Page>
  /** Sends the fields and the token that the page at `from` has, or without `from` the account page. */
  readonly post: (path: string, fields?: Fields, from?: string) => Promise<Page>
  /** Sends the fields and nothing else. */
  readonly send: (path: string, fields: Fields, headers?: Readonly<Record<string, string>>) => Promise<Page>
  /** The token of the forms on a page. */
  readonly fetchToken: (path?: string) => Promise<string>
}

type Fields = Readonly<Record<string, string | readonly string[]>>

/** A browser without a session. */
export function createVisitor (gateway: Pick<TestGateway, 'inject'>): Visitor {
  const cookies = new Map<string, string>()
  const sendRequest = async (
    method: 'GET' | 'POST',
    path: string,
    payload?: string,
    headers: Readonly<Record<string, string>> = {}
  ): Promise<Page> => {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const response = await gateway.inject({
      method,
      url: path,
      headers: {
        ...(cookie === '' ? {} : { cookie }),
        ...(payload === undefined ? {} : { 'content-type': 'application/x-www-form-urlencoded' }),
        ...headers
      },
      ...(payload === undefined ? {} : { payload })
    })
    keep(cookies, response.headers['set-cookie'])
    return {
      status: response.statusCode,
      headers: response.headers as Page['headers'],
      html: response.body,
      text: toText(response.body)
    }
  }
  const fetchToken = async (path = '/dashboard/account'): Promise<string> => {
    const { html, status } = await sendRequest('GET', path)
    const found = /name="_csrf" value="([^"]+)"/.exec(html)?.[1]
    if (found === undefined) throw new Error(`${path} (${status}) has no form with a token`)
    return found
  }
  const send: Visitor['send'] = async (path, fields, headers) => await sendRequest('POST', path, encode(fields), headers)
  return {
    cookies,
    fetchToken,
    send,
    get: async (path, headers) => await sendRequest('GET', path, undefined, headers),
    post: async (path, fields = {}, from = undefined) => await send(path, { ...fields, _csrf: await fetchToken(from) })
  }
}

/** The member whom a test signs in; admins and viewers need an organization. */
export interface SignInOptions {
  readonly role: Role
  readonly tenantId?: string
  readonly email?: string
  readonly name?: string
  /** The start of the session. */
  readonly now?: Date
}

/** A signed-in member, without the third of a second that hashing a password takes. */
export async function createSignedInVisitor (
  gateway: Pick<TestGateway, 'inject' | 'control'>,
  { role, tenantId, email = `${role}@example.org`, name = `A test ${role}`, now }: SignInOptions
): Promise<Visitor & { readonly member: Member }> {
  const { control } = gateway
  const member = await control.members.upsertFromProvider({
    issuer: 'https://login.example.org',
    subject: randomUUID(),
    email,
    name,
    role,
    ...(tenantId === undefined ? {} : { tenantId })
  })
  const browser = createVisitor(gateway)
  browser.cookies.set('clinigate-session', await createSession(gateway, member.memberId, { now }))
  return { ...browser, member }
}

/** Creates a session of a member, which lasts an hour unless the test gives another duration. @returns its id */
export async function createSession (
  { control }: Pick<TestGateway, 'control'>,
  memberId: string,
  { now = new Date(), minutes = 60 } = {}
): Promise<string> {
  const id = createSessionId()
  await control.sessions.save(id, {
    memberId,
    content: { startedAt: now.toISOString(), _csrf: randomUUID() },
    expiresAt: new Date(now.getTime() + minutes * 60_000)
  })
  return id
}

function encode (fields: Fields): string {
  const form = new URLSearchParams()
  for (const [name, values] of Object.entries(fields)) {
    for (const value of [values].flat() as string[]) form.append(name, value)
  }
  return form.toString()
}

function keep (cookies: Map<string, string>, header: unknown): void {
  for (const line of [header].flat()) {
    if (typeof line !== 'string') continue
    const [, name, value] = /^([^=]+)=([^;]*)/.exec(line)!
    if (/; (Max-Age=0|Expires=Thu, 01 Jan 1970)/i.test(line)) cookies.delete(name!)
    else cookies.set(name!, value!)
  }
}

const entities: Readonly<Record<string, string>> = {
  '&lt;': '<',
  '&gt;': '>',
  '&#34;': '"',
  '&#39;': "'",
  '&amp;': '&'
}

function toText (html: string): string {
  return html
    .replace(/<(script|style|head)[\s>].*?<\/\1>/gs, '')
    .replace(/<[^>]*>/g, ' ')
    .replace(/&(lt|gt|amp|#34|#39);/g, entity => entities[entity]!)
    .replace(/\s+/g, ' ')
    .trim()
}
