import { test } from 'tap'
import { visitor } from '../harness/dashboard.js'
import { startGateway } from '../harness/gateway.js'
import { answersIn, exchangeRaw } from '../harness/raw-http.js'

const headers = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': /^default-src 'none';script-src 'self';.*frame-ancestors 'none'/,
  'cache-control': 'no-store',
  'x-frame-options': 'DENY',
  'referrer-policy': 'same-origin',
  'x-content-type-options': 'nosniff',
  'x-request-id': /./
}

const tooLong = (path: string): string => `GET ${path}${'x'.repeat(20_000)} HTTP/1.1\r\nHost: localhost\r\n\r\n`

// An address that cannot be decoded, or is too long, got the API's envelope; what the gateway's first steps refuse got
// plain text.
test('whatever is wrong with a request below /dashboard, a browser gets a page', async t => {
  const gateway = await startGateway(t)
  const { get, send } = visitor(gateway)
  const addresses = [
    await get('/dashboard/%'),
    await get('/dashboard/keys/%E0%A4%A?search=%'),
    await get('/dashboard/%00%')
  ]
  for (const { status, headers: sent, html } of addresses) {
    t.equal(status, 400)
    t.match(sent, headers)
    t.match(html, /^<!doctype html>.*<h1>Bad request<\/h1>.*Check the address and try again\..*href="\/dashboard"/s)
  }
  const overridden = await send('/dashboard/sign-in', {}, { 'x-http-method-override': 'PUT' })
  t.match(overridden, { status: 400, headers, html: /^<!doctype html>.*Method override rejected/s })
  t.match(await send('/dashboard/sign-in', {}, { 'content-type': 'application/json' }), {
    status: 415,
    headers,
    html: /^<!doctype html>/
  })
  t.match(await send('/dashboard/sign-in', { email: 'x'.repeat(70_000) }), {
    status: 413,
    headers,
    html: /^<!doctype html>/
  })

  const [long] = answersIn(await exchangeRaw(gateway.url, tooLong('/dashboard/')))
  t.match(long, { status: 400, headers, text: /^<!doctype html>.*too long or cannot be read/s })
})

test('programs are still answered in their own form', async t => {
  const { inject, url } = await startGateway(t)
  for (const path of ['/%', '/v1/%', '/control/v1/%', '/dashboards/%', '/openapi.json/%']) {
    t.match(
      await inject(path),
      { statusCode: 400, headers: { 'content-type': 'application/json; charset=utf-8' } },
      path
    )
  }
  t.match(await inject('/v1/fhir/%'), { statusCode: 400, headers: { 'content-type': /fhir\+json/ } })
  t.match(answersIn(await exchangeRaw(url, tooLong('/v1/'))), [
    { status: 400, headers: { 'content-type': /^application\/json/ } }
  ])
})
