import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { test } from 'tap'
import { createSession, createSignedInVisitor, createVisitor, type Page } from '../harness/dashboard.js'
import { startGateway } from '../harness/gateway.js'

const policy =
  "default-src 'none';script-src 'self';style-src 'self';img-src 'self' data:;form-action 'self';frame-ancestors 'none';base-uri 'none'"

test('a page gives a browser nothing to run but our own script, and is not cached', async t => {
  const gateway = await startGateway(t)
  const operator = await createSignedInVisitor(gateway, { role: 'operator' })
  for (const [path, status] of [
    ['/dashboard/sign-in', 200],
    ['/dashboard/account', 200],
    ['/dashboard/nothing', 404],
    ['/dashboard/organizations/org-none', 404]
  ] as const) {
    const page = await (path === '/dashboard/sign-in' ? createVisitor(gateway) : operator).get(path)
    t.equal(page.status, status, path)
    t.match(page.headers, {
      'content-security-policy': policy,
      'cache-control': 'no-store',
      'cross-origin-opener-policy': 'same-origin',
      'cross-origin-resource-policy': 'same-origin',
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'DENY',
      'referrer-policy': 'same-origin'
    })
    t.equal(page.headers['strict-transport-security'], undefined, 'http promises no https')
    t.notMatch(page.html, /<script(?![^>]* src="\/dashboard\/)|<style| style=| on[a-z]+=|https?:\/\//)
  }
})

test('over https the cookies are of this host alone and secure, and HSTS is set', async t => {
  const gateway = await startGateway(t, { config: { publicUrl: 'https://dashboard.example.org' } })
  const page = await createVisitor(gateway).get('/dashboard/sign-in')
  t.match(page.headers['strict-transport-security'], /^max-age=\d{7,}/)
  t.match(page.headers['set-cookie'], /^__Host-clinigate-form=[^;]+; Path=\/; HttpOnly; Secure; SameSite=Lax$/)
  const { member } = await createSignedInVisitor(gateway, { role: 'operator' })
  const browser = createVisitor(gateway)
  browser.cookies.set('__Host-clinigate-session', await createSession(gateway, member.memberId))
  t.equal((await browser.get('/dashboard/account')).status, 200, 'behind a proxy that speaks TLS')
  const left = await browser.post('/dashboard/sign-out')
  t.match(left.headers['set-cookie'], [/^__Host-clinigate-session=;.* Secure;/, /^__Host-clinigate-notice=/])
  t.equal((await browser.get('/dashboard/account')).status, 303)
})

test('a visit without a sign-in leaves nothing in the database', async t => {
  const gateway = await startGateway(t)
  const bot = createVisitor(gateway)
  await bot.get('/dashboard')
  await bot.get('/dashboard/sign-in')
  await bot.post('/dashboard/sign-in', { email: 'x', password: '' }, '/dashboard/sign-in')
  bot.cookies.set('clinigate-session', 'A'.repeat(43))
  await bot.get('/dashboard/account')
  await bot.get('/dashboard/choose-organization')
  t.notOk(bot.cookies.has('clinigate-session'), 'no session was given')
  const database = new Database(join(gateway.dataDirectory, 'control.db'), { readonly: true })
  t.equal(database.prepare('SELECT count(*) FROM sessions').pluck().get(), 0)
  database.close()
})

test('a form without the token of its session has no effect, whichever visitor sends it', async t => {
  const gateway = await startGateway(t)
  const operator = await createSignedInVisitor(gateway, { role: 'operator' })
  const other = await createSignedInVisitor(gateway, { role: 'operator', email: 'other@example.org' })
  const stranger = createVisitor(gateway)
  const make = async (fields: Record<string, string>, headers = {}): Promise<Page> =>
    await operator.send('/dashboard/organizations/new', { name: 'Made', plan: 'pro', ...fields }, headers)
  const ofForm = await stranger.fetchToken('/dashboard/sign-in')
  for (const [what, _csrf] of [
    ['none', undefined],
    ['empty', ''],
    ['another session’s', await other.fetchToken()],
    ['a visitor’s', ofForm],
    ['a wrong one', 'x'.repeat(52)]
  ] as const) {
    const response = await make(_csrf === undefined ? {} : { _csrf })
    t.equal(response.status, 403, what)
    t.match(response.text, /out of date/)
  }
  const token = await operator.fetchToken()
  for (const headers of [
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site' },
    { origin: 'https://evil.example.org' },
    { origin: 'null' },
    { 'sec-fetch-site': 'cross-site', origin: 'http://127.0.0.1:8080' }
  ]) {
    const response = await make({ _csrf: token }, headers)
    t.equal(response.status, 403, JSON.stringify(headers))
    t.match(response.text, /another site/)
  }
  t.same(await gateway.control.organizations.list(), [], 'nothing was made')
  const own: ReadonlyArray<Record<string, string>> = [
    { 'sec-fetch-site': 'same-origin', origin: 'null' },
    { host: 'localhost:4000', origin: 'http://localhost:4000' },
    {}
  ]
  for (const headers of own) {
    t.equal(
      (await operator.send('/dashboard/account/sessions/end-others', { _csrf: token }, headers)).status,
      303,
      `${JSON.stringify(headers)} is its own`
    )
  }
  t.equal(
    (await stranger.send('/dashboard/sign-in', { email: 'a@example.org', password: 'x' })).status,
    403,
    'the sign-in form has one as well'
  )
  t.equal((await operator.get('/dashboard/sign-out')).status, 404, 'nothing is done by a link')
})

test('markup that a user typed is escaped on every page', async t => {
  const gateway = await startGateway(t)
  const nasty = '"><script>alert(1)</script><img src=x onerror=alert(1)>\''
  const tenantId = (await gateway.control.organizations.create({ name: nasty, plan: 'pro' }, 'test')).tenantId
  const admin = await createSignedInVisitor(gateway, { role: 'admin', tenantId, name: nasty, email: '"><script>@example.org' })
  const { token } = await gateway.control.invitations.create(
    { tenantId, email: '"><script>x@example.org', role: 'viewer' },
    'test'
  )
  const browser = createVisitor(gateway)
  const pages = [
    await admin.get('/dashboard/account'),
    await browser.get(`/dashboard/invitations/${token}`),
    await browser.post(
      `/dashboard/invitations/${token}`,
      { name: nasty.padEnd(300, '<'), password: 'x' },
      `/dashboard/invitations/${token}`
    ),
    await browser.get(`/dashboard/sign-in?next=${encodeURIComponent(`/dashboard/${nasty}`)}`),
    await browser.post('/dashboard/sign-in', { email: nasty, password: '', next: nasty }, '/dashboard/sign-in')
  ]
  for (const { html, status } of pages) {
    t.ok([200, 422].includes(status))
    t.notMatch(stripQuoted(html), /<script(?! type="" src="">)|<img/)
    t.match(html, /&lt;script|%3Cscript|&#34;><script/)
  }
  browser.cookies.set('clinigate-notice', encodeURIComponent(nasty))
  t.notMatch((await browser.get('/dashboard/sign-in')).html, /<script>|<img/)
})

/** Between the quotes of an attribute only a quote ends it, and those are written `&#34;`. */
const stripQuoted = (html: string): string => html.replace(/="[^"]*"/g, '=""')

test('the check finds a page that would not escape what it shows', t => {
  const root = join(import.meta.dirname, '..', '..')
  const buildProject = (page: string) => ({
    'tsconfig.json': JSON.stringify({
      extends: join(root, 'tsconfig.json'),
      compilerOptions: { rootDir: '.', types: [] },
      files: ['page.tsx']
    }),
    'page.tsx': page
  })
  const folder = t.testdir({
    good: buildProject('export const Page = ({ name }: { readonly name: string }) => <p safe>{name}</p>\n'),
    bad: buildProject('export const Page = ({ name }: { readonly name: string }) => <p>{name}</p>\n')
  })
  const scan = (name: string) =>
    spawnSync(
      process.execPath,
      [
        join(root, 'node_modules', '@kitajs', 'ts-html-plugin', 'dist', 'cli.js'),
        '--project',
        join(folder, name, 'tsconfig.json')
      ],
      { encoding: 'utf8' }
    )
  t.match(scan('good'), { status: 0 })
  t.match(scan('bad'), { status: 1, stderr: /K601/ })
  t.match(JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).scripts, {
    check: /npm run escapes/,
    escapes: /xss-scan/
  })
  t.end()
})

test('browsers cache the style and the script until they change', async t => {
  const gateway = await startGateway(t)
  const browser = createVisitor(gateway)
  const { html } = await browser.get('/dashboard/sign-in')
  const paths = [...html.matchAll(/(?:href|src)="(\/dashboard\/assets\/[^"]+)"/g)].map(([, path]) => path!)
  t.equal(paths.length, 2)
  for (const path of paths) {
    const asset = await browser.get(path)
    t.equal(asset.status, 200)
    t.match(asset.headers, {
      'cache-control': 'public, max-age=31536000, immutable',
      'content-type': /^text\/(css|javascript)/,
      'x-content-type-options': 'nosniff'
    })
    t.equal((await browser.get(path.replace(/v=.*/, 'v=of-another-version'))).headers['cache-control'], 'no-cache')
  }
})
