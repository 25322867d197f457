import t from 'tap'
import { loadConfig } from '../../src/config/load.js'
import { ownUrl } from '../../src/bootstrap/own-url.js'

// A gateway that was to listen at `::` did not start, and said `Invalid URL`.
t.test('the URL of a gateway that listens at an IPv6 address has the address in brackets', async t => {
  for (const [HOST, url] of [
    ['::', 'http://[::]:8080'],
    ['::1', 'http://[::1]:8080'],
    ['127.0.0.1', 'http://127.0.0.1:8080']
  ] as const) {
    t.equal(ownUrl(loadConfig({ HOST, CLINIGATE_DATA: t.testdir() })), url)
    t.equal(new URL(url).port, '8080')
  }
})
