import type { ServerResponse } from 'node:http'
import { createServer } from 'node:https'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { Batch, KeyState } from '../../src/keys/change-feed.js'
import { may } from '../../src/keys/scopes.js'
import { hashSecret } from '../../src/keys/secret.js'
import type { UsageBatch } from '../../src/limits/usage.js'
import { createRemoteLink, type RemoteLinkOptions } from '../../src/control-plane/sync/remote.js'
import { waitUntil } from '../harness/until.js'
import { startFollower, startStandIn } from './control-plane.js'

const token = 'cg_gateway_never-to-be-seen'

function linkTo (t: Test, url: string, options: Partial<RemoteLinkOptions> = {}) {
  const link = createRemoteLink({ url, token, silenceMs: 5_000, ...options })
  t.after(() => link.close())
  return link
}

function buildKeyChange (seq: number, state: Partial<KeyState> = {}) {
  return {
    seq,
    kind: 'key' as const,
    state: {
      keyId: `key-${seq}`,
      hash: hashSecret(`${seq}`),
      tenantId: 'org-a',
      name: 'a key',
      mode: 'test' as const,
      scopes: ['*' as const],
      ...state
    }
  }
}

const first: Batch = {
  feedId: 'feed-1',
  isSnapshot: true,
  after: 0,
  through: 2,
  isLatest: true,
  changes: [{ seq: 1, kind: 'organization', state: { tenantId: 'org-a', plan: 'pro', overage: true } }, buildKeyChange(2)]
}
const second: Batch = { ...first, isSnapshot: false, after: 2, through: 3, changes: [buildKeyChange(3)] }
const third: Batch = { ...second, after: 3, through: 4, changes: [buildKeyChange(4)] }
const formatEvent = (batch: unknown) => `data: ${JSON.stringify(batch)}\n\n`

const begin = (response: ServerResponse) => response.writeHead(200, { 'content-type': 'text/event-stream' })

/**
 * A control plane that sends on its first connection the data of the test, and on each later one a valid batch; one
 * batch per connection is enough.
 */
async function startHostile (t: Test, ...sent: Array<string | Buffer>) {
  let connections = 0
  const url = await startStandIn(t, ({ url = '', headers }, response) => {
    t.equal(headers.authorization, `Bearer ${token}`)
    begin(response)
    const seq = new URL(url, 'http://x').searchParams.get('seq')
    if (++connections === 1) for (const segment of sent) response.write(segment)
    else if (seq === '0') response.write(formatEvent(first) + formatEvent(second))
    else {
      response.write(
        formatEvent({
          ...second,
          after: Number(seq),
          through: Math.max(3, Number(seq)),
          changes: Number(seq) < 3 ? second.changes : []
        })
      )
    }
  })
  return startFollower(t, linkTo(t, url).feed)
}

const validEvent = formatEvent(first)
const withChange = (change: object) => formatEvent({ ...second, changes: [change] })

const broken: Readonly<Record<string, ReadonlyArray<string | Buffer>>> = {
  'a page of HTML': ['<html><body>502 Bad Gateway</body></html>\n\n'],
  'bytes that are no text': [Buffer.from([0x64, 0x61, 0x74, 0x61, 0x3a, 0xff, 0xfe, 0x0a, 0x0a])],
  'JSON that is cut': ['data: {"feedId":"feed-1","isSnapshot"\n\n'],
  'an event of another kind': [`event: other\n${formatEvent(second)}`],
  'a batch with a name too many': [formatEvent({ ...second, isForced: true })],
  'a batch without changes': [formatEvent({ ...second, changes: undefined })],
  'a number that is a text': [formatEvent({ ...second, through: '3' })],
  'a key of another kind': [withChange(buildKeyChange(3, { mode: 'root' as never }))],
  'a scope that is empty': [withChange(buildKeyChange(3, { scopes: ['' as never] }))],
  'a key without scopes': [withChange(buildKeyChange(3, { scopes: [] }))],
  'a key with something that is not known': [withChange(buildKeyChange(3, { allowedFrom: '10.0.0.0/8' } as never))],
  'an expiry that is no time': [withChange(buildKeyChange(3, { expiresAt: 'tomorrow' }))],
  'a day that no month has': [withChange(buildKeyChange(3, { expiresAt: '2030-13-01T00:00:00Z' }))],
  'a secret in place of a hash': [withChange(buildKeyChange(3, { hash: 'svc_test_x' }))],
  'changes in the wrong order': [formatEvent({ ...second, through: 4, changes: [buildKeyChange(4), buildKeyChange(3)] })],
  'a change from before the batch': [formatEvent({ ...second, changes: [buildKeyChange(1, { keyId: 'key-other' })] })],
  'a change beyond the batch': [formatEvent({ ...second, changes: [buildKeyChange(4)] })],
  'a snapshot that does not begin at the beginning': [formatEvent({ ...second, isSnapshot: true })],
  'a number before zero': [formatEvent({ ...second, after: -1 })],
  'a prototype': [
    'data: {"__proto__":{"changes":[]},"feedId":"feed-1","isSnapshot":false,"after":2,"through":3,"isLatest":true}\n\n'
  ]
}

for (const [what, sent] of Object.entries(broken)) {
  t.test(
    `${what} closes the connection, is not applied, is logged, and the next connection continues from the same position`,
    async t => {
      const { replica, lines } = await startHostile(t, validEvent, ...sent)
      await waitUntil(() => replica.readPosition().seq === 3)
      t.equal(replica.find(hashSecret('3'))?.caller.keyId, 'key-3')
      t.equal(replica.find(hashSecret('2'))?.caller.keyId, 'key-2')
      t.equal(replica.find(hashSecret('4')), undefined)
      t.match(
        lines.find(line => line.includes('key change feed failed')),
        /ControlPlaneError/
      )
      t.notMatch(lines.join(''), token)
      t.notMatch(lines.join(''), /Bad Gateway|allowedFrom|svc_test/, 'nothing of what was sent')
    }
  )
}

t.test('a scope that only a newer control plane knows permits nothing, and does not affect other keys', async t => {
  const newer = { ...second, through: 4, changes: [buildKeyChange(3, { scopes: ['records:approve' as never] }), buildKeyChange(4)] }
  const { replica } = await startHostile(t, validEvent, formatEvent(newer))
  await waitUntil(() => replica.readPosition().seq === 4)
  t.equal(replica.find(hashSecret('4'))?.caller.keyId, 'key-4')
  const { scopes } = replica.find(hashSecret('3'))!.caller
  for (const effect of ['read', 'write'] as const) t.notOk(may(scopes, effect, 'any'))
})

t.test('a partial message, when the connection breaks, is as if it had never been sent', async t => {
  let connections = 0
  const requested: string[] = []
  const url = await startStandIn(t, ({ url = '' }, response) => {
    requested.push(url)
    begin(response)
    if (++connections > 1) return response.write(formatEvent(second))
    response.write(formatEvent(first) + formatEvent(second).slice(0, -2))
    setTimeout(() => response.destroy(), 100)
  })
  const { replica } = startFollower(t, linkTo(t, url).feed)
  await waitUntil(() => replica.readPosition().seq === 3)
  t.same(requested, ['/control/v1/link/feed?feedId=&seq=0', '/control/v1/link/feed?feedId=feed-1&seq=2'])
})

t.test('messages are complete however their bytes are split', async t => {
  const named = formatEvent({ ...first, changes: [first.changes[0], buildKeyChange(2, { name: 'Schlüssel 🔑' })] })
  const url = await startStandIn(t, async (_, response) => {
    begin(response)
    for (const byte of Buffer.from(named)) if (!response.write(Buffer.of(byte))) await once(response, 'drain')
  })
  const { replica } = startFollower(t, linkTo(t, url).feed)
  await waitUntil(() => replica.readPosition().seq === 2)
  t.equal(replica.find(hashSecret('2'))?.caller.keyName, 'Schlüssel 🔑')
})

t.test('a message without end is cut off before it fills the memory', async t => {
  let written = 0
  const over = new AbortController()
  const url = await startStandIn(t, async (_, response) => {
    begin(response).setMaxListeners(0).write('data: ')
    response.once('close', () => over.abort())
    while (!over.signal.aborted && written < 1e9) {
      written += 65_536
      if (!response.write('x'.repeat(65_536))) await Promise.race([once(response, 'drain'), once(response, 'close')])
    }
  })
  const { lines } = startFollower(t, linkTo(t, url).feed)
  await waitUntil(() => lines.some(line => line.includes('ControlPlaneError')))
  t.ok(written < 20e6, `${written} bytes were taken`)
})

t.test('batches that arrive twice, late or too early do no harm', async t => {
  const revoked: Batch = {
    ...third,
    after: 4,
    through: 5,
    changes: [buildKeyChange(5, { keyId: 'key-2', hash: hashSecret('2'), revokedAt: '2030-01-01T00:00:00.000Z' })]
  }
  const all = [first, second, third, revoked]
  let connections = 0
  const url = await startStandIn(t, ({ url = '' }, response) => {
    begin(response)
    const seq = Number(new URL(url, 'http://x').searchParams.get('seq'))
    // Twice, in reverse, and the first ones once more at the end; a later connection sends the batch that was
    // requested.
    const sent =
      ++connections === 1
        ? [first, first, second, second, revoked, third]
        : [...all.filter(({ after }) => after >= seq && after > 0), second, third]
    response.write(sent.map(formatEvent).join(''))
  })
  const { replica, lines } = startFollower(t, linkTo(t, url).feed)
  await waitUntil(() => replica.readPosition().seq === 5)
  await waitUntil(() => lines.some(line => line.includes('works again')))
  t.same(replica.readPosition(), { feedId: 'feed-1', seq: 5 })
  for (const seq of [3, 4]) t.equal(replica.find(hashSecret(`${seq}`))?.revokedAt, undefined)
  t.ok(replica.find(hashSecret('2'))?.revokedAt, 'what came late did not bring a revoked key back')
  t.match(lines.join(''), /is at 3 and cannot apply changes after 4/)
})

t.test('a connection that goes silent is given up and opened again', async t => {
  const url = await startStandIn(t, ({ url = '' }, response) => {
    // It goes silent, as when a machine or a firewall in between disappears.
    begin(response).write(formatEvent(url.endsWith('seq=0') ? first : second))
  })
  const { replica, lines } = startFollower(t, linkTo(t, url, { silenceMs: 1_200 }).feed)
  await waitUntil(() => replica.readPosition().seq === 3)
  t.match(lines.join(''), /was silent/)
})

t.test('keep-alives without a batch do not keep a connection open', async t => {
  const url = await startStandIn(t, ({ url = '' }, response) => {
    begin(response).write(formatEvent(url.endsWith('seq=0') ? first : second))
    const comments = setInterval(() => response.write(': still here\n\n'), 100)
    response.once('close', () => clearInterval(comments))
  })
  const { replica } = startFollower(t, linkTo(t, url, { silenceMs: 1_200 }).feed)
  await waitUntil(() => replica.readPosition().seq === 3)
})

t.test(
  'the log distinguishes a rejected token, a wrong address and a failing control plane, without the token',
  async t => {
    for (const [status, message] of [
      [401, /rejected this gateway's token.*CLINIGATE_GATEWAY_TOKEN/],
      [403, /rejected this gateway's token/],
      [404, /check control\.url/],
      [302, /answered with 302/],
      [500, /answered with 500/]
    ] as const) {
      const url = await startStandIn(t, (_, response) =>
        response.writeHead(status, { location: 'http://127.0.0.1:1/' }).end(`no: ${token}`)
      )
      const { lines, replica } = startFollower(t, linkTo(t, url).feed)
      await waitUntil(() => lines.length > 0)
      t.match(lines[0], message)
      t.notMatch(lines.join(''), token)
      t.same(replica.readPosition(), { feedId: '', seq: 0 })
    }
  }
)

t.test('a control plane that accepts the connection and never responds is given up', async t => {
  const url = await startStandIn(t, () => {})
  const { lines } = startFollower(t, linkTo(t, url, { responseTimeoutMs: 1_000 }).feed)
  await waitUntil(() => lines.length > 0)
  t.match(lines[0], /HEADERS_TIMEOUT/)
})

t.test('a control plane with an untrusted certificate gets no token', async t => {
  let isRequested = false
  const readPem = (name: string) => readFileSync(join(import.meta.dirname, '..', 'backends', name))
  const server = createServer({ key: readPem('self-signed-key.pem'), cert: readPem('self-signed.pem') }, () => {
    isRequested = true
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  const { lines } = startFollower(t, linkTo(t, `https://localhost:${(server.address() as AddressInfo).port}`).feed)
  await waitUntil(() => lines.length > 0)
  t.match(lines[0], /SELF_SIGNED_CERT/)
  t.equal(isRequested, false)
})

t.test('a control plane below a path gets its requests there', async t => {
  const requested: string[] = []
  const url = await startStandIn(t, ({ url = '' }, response) => {
    requested.push(url)
    begin(response).write(formatEvent(first))
  })
  const { follower } = startFollower(t, linkTo(t, `${url}/keys/`).feed)
  await follower.caughtUp
  t.same(requested, ['/keys/control/v1/link/feed?feedId=&seq=0'])
})

const usage: UsageBatch = { ledgerId: 'ledger-1', number: 1, batchId: 'batch-1', lines: [] }

t.test('a malformed receipt, or one without end, is rejected', async t => {
  for (const responseBody of [
    '',
    'nonsense',
    '{}',
    '{"number":"1","batchId":"batch-1"}',
    '{"number":1,"batchId":"batch-1","isFinal":true}',
    'x'.repeat(1e6)
  ]) {
    const url = await startStandIn(t, (_, response) => response.end(responseBody))
    await t.rejects(linkTo(t, url).sendUsage(usage, new AbortController().signal), { name: 'ControlPlaneError' })
  }
})

t.test('sending a batch of usage is aborted when its sender stops', async t => {
  const url = await startStandIn(t, () => {})
  const stopping = new AbortController()
  const sent = linkTo(t, url).sendUsage(usage, stopping.signal)
  stopping.abort()
  await t.rejects(sent, { name: 'AbortError' })
})
