import { Readable } from 'node:stream'
import { test } from 'tap'
import { ImportFileServer } from '../../src/jobs/import/native/file-server.js'

const buildBasicHeader = (credentials: string): string => `Basic ${Buffer.from(credentials).toString('base64')}`

test('offered lines are served at a URL of their own with a password of their own, from opening to closing', async t => {
  const offers = new ImportFileServer('http://gateway.test:8080')
  const offer = offers.offer(new Map([['Patient', () => Readable.from(['line'])]]))
  const other = offers.offer(new Map([['Patient', () => Readable.from(['other'])]]))
  other.open()
  const { url } = offer.files[0]!
  t.match(url, /^http:\/\/gateway\.test:8080\/bulk-import\/[\w-]{43}\/Patient\.ndjson$/)
  const [token, name] = url.split('/').slice(-2) as [string, string]
  const validRequest = { token, name, authorization: buildBasicHeader(offer.credentials) }
  const waiting = offers.find(validRequest)
  t.equal(await Promise.race([waiting, Promise.resolve('waits')]), 'waits', 'nothing is given before it is open')
  offer.open()
  t.ok(await waiting)
  t.ok(await offers.find(validRequest), 'a datastore may fetch twice')
  const wrong = [
    { ...validRequest, authorization: undefined },
    { ...validRequest, authorization: buildBasicHeader(other.credentials) },
    { ...validRequest, authorization: buildBasicHeader('') },
    { ...validRequest, authorization: buildBasicHeader(offer.credentials.slice(0, -1)) },
    { ...validRequest, authorization: `Bearer ${offer.credentials}` },
    { ...validRequest, token: token.slice(1) },
    { ...validRequest, token: '' },
    { ...validRequest, name: 'Observation.ndjson' },
    { ...validRequest, name: '../Patient.ndjson' },
    { ...validRequest, name: '__proto__' }
  ]
  for (const request of wrong) t.equal(await offers.find(request), undefined, JSON.stringify(Object.keys(request)))
  offer.close()
  t.equal(await offers.find(validRequest), undefined)
})

test('a request for lines that are never opened gets nothing', async t => {
  const offers = new ImportFileServer('http://gateway.test:8080')
  const offer = offers.offer(new Map([['Patient', () => Readable.from(['line'])]]))
  const [token, name] = offer.files[0]!.url.split('/').slice(-2) as [string, string]
  const waiting = offers.find({ token, name, authorization: buildBasicHeader(offer.credentials) })
  offer.close()
  t.equal(await waiting, undefined)
})
