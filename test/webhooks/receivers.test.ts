/** The receivers of the page on webhooks, as its readers run them, and libraries of other projects. */
import { execFile, spawn, type ChildProcess } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { request as httpRequest } from 'node:http'
import { connect } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { readBlock, root } from '../e2e/document.js'
import { findFreePort } from '../harness/free-port.js'
import { installPython } from '../harness/python.js'
import { waitUntil } from '../harness/until.js'
import { startDelivery, startReceiver } from './receivers.js'

t.setTimeout(300_000)

const page = 'docs/how-to/webhooks.md'
const output: string[] = []
const programs = await installPython({ log: (line: string) => { output.push(line) } })
const python = programs === undefined ? undefined : join(programs, 'python')
const skip = python === undefined && output.join(' ')

/** Starts a receiver of the page behind a proxy that terminates TLS, as documented. @returns its URL, and its output */
async function startReaders (
  t: Test, command: (file: string) => string[], { code, secret }: { readonly code: string, readonly secret: string }
) {
  const file = join(t.testdir(), 'receiver.ts')
  writeFileSync(file, code)
  const port = await findFreePort()
  const [program, ...args] = command(file)
  const child: ChildProcess = spawn(program!, args, {
    cwd: root, env: { ...process.env, WEBHOOK_SECRET: secret, PORT: String(port) }
  })
  t.teardown(() => child.kill())
  let printed = ''
  child.stdout!.on('data', chunk => { printed += String(chunk) })
  child.stderr!.on('data', chunk => { printed += String(chunk) })
  // A signature is valid for minutes only, so the first attempt must succeed.
  await waitUntil(() => isListening(port))
  const proxy = await startReceiver(t, ({ headers, body, path }, response) => {
    httpRequest({ port, host: '127.0.0.1', method: 'POST', path, headers }, forwarded => {
      response.writeHead(forwarded.statusCode!)
      forwarded.pipe(response)
    }).on('error', () => response.writeHead(502).end()).end(body)
  })
  return { proxy, printed: () => printed }
}

function isListening (port: number): Promise<boolean> {
  return new Promise(resolve => {
    const socket = connect(port, '127.0.0.1', () => { socket.destroy(); resolve(true) })
    socket.on('error', () => resolve(false))
  })
}

const cases = {
  ts: { skip: false, command: (file: string) => [process.execPath, `--import=${join(root, 'test/harness/typescript.js')}`, file] },
  python: { skip, command: (file: string) => [python!, file] }
} as const

for (const [language, { command, skip }] of Object.entries(cases)) {
  t.test(`the ${language} receiver accepts a signed delivery, once, and rejects any other`, { skip }, async t => {
    const { store, owner, append, waitForDeliveries } = await startDelivery(t)
    const [signed, forged] = await Promise.all([{}, {}].map(() =>
      store.webhooks.create({ url: 'https://files.example.org/', enabled: false }, owner)))
    const { proxy, printed } = await startReaders(t, command, { code: readBlock(page, `${language} receiver`), secret: signed!.secret })
    for (const { id } of [signed!, forged!]) await store.webhooks.change(id, owner, { url: proxy.url, enabled: true })
    await append({})
    const { eventId } = (await waitForDeliveries(signed!.id, 1))[0]!
    t.match(printed(), `patients.created ${eventId}`)
    await waitUntil(async () =>
      (await waitForDeliveries(forged!.id, 1)).some(({ responseStatus }) => responseStatus === 400)
    )
    await store.webhooks.resend(signed!.id, owner, '2020-01-01T00:00:00Z')
    await waitUntil(async () =>
      (await waitForDeliveries(signed!.id, 1)).filter(({ outcome }) => outcome === 'delivered').length === 2)
    t.equal(printed().split(eventId).length - 1, 1, 'what comes twice is ignored')
  })
}

t.test('the libraries of Standard Webhooks and svix for Python verify a delivery', { skip }, async t => {
  const { store, owner, append } = await startDelivery(t)
  const { url, received } = await startReceiver(t)
  const { id, secret: old } = await store.webhooks.create({ url, enabled: false }, owner)
  const { secret } = await store.webhooks.roll(id, owner)
  await store.webhooks.change(id, owner, { enabled: true })
  await append({})
  await waitUntil(() => received.length === 1)
  const { headers, body } = received[0]!
  const program = `import json, sys
from standardwebhooks import Webhook as Standard
from svix.webhooks import Webhook as Svix
given = json.loads(sys.argv[1])
for library in (Standard, Svix):
    for secret in given["secrets"]:
        library(secret).verify(given["body"], given["headers"])
    try:
        library(given["secrets"][0]).verify(given["body"] + " ", given["headers"])
    except Exception as error:
        print(type(error).__name__)`
  const input = JSON.stringify({ headers, body, secrets: [secret, old] })
  const { stdout } = await promisify(execFile)(python!, ['-c', program, input])
  t.equal(stdout, 'WebhookVerificationError\nWebhookVerificationError\n')
})
