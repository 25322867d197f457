import { randomUUID } from 'node:crypto'
import t, { type Test } from 'tap'
import type { BackendResponse, BackendRequest } from '../../src/backends/backend.js'
import { decorateBackend } from '../../src/backends/decorate.js'
import { HttpBackend } from '../../src/backends/http-backend.js'
import { Failure } from '../../src/envelope/failures.js'
import type { ServerBehaviour } from '../../src/sandbox/server-behaviour.js'
import { checks, runChecks, type Examination } from '../../src/operator/server-check/examine.js'
import { createFhirClient, tenantSystem, type FhirServer } from '../harness/fhir-server.js'
import { startTestSandbox } from '../harness/sandbox.js'
import { unlikeHapi } from '../harness/non-hapi-server.js'

type Send = (request: BackendRequest) => Promise<BackendResponse>
/** What stands between the doctor and the server. */
type Between = (send: Send, baseUrl: string) => Send

interface Ward {
  readonly server: FhirServer
  readonly examine: (between?: Between, signal?: AbortSignal) => Promise<Examination>
}

async function startWard (t: Test, behaviour: Partial<ServerBehaviour> = {}): Promise<Ward> {
  const sandbox = await startTestSandbox(t, behaviour)
  const http = new HttpBackend({ name: 'datastore', baseUrl: sandbox.url, retryPauseMs: 1 })
  t.after(() => http.close())
  return {
    server: createFhirClient(sandbox.url),
    examine: (between = send => send, signal) => {
      const backend = decorateBackend(http, { send: between(request => http.send(request), http.baseUrl) })
      return runChecks({
        backend,
        anonymous: http,
        tenantSystem,
        newId: randomUUID,
        pause: async () => {},
        ...(signal !== undefined && { signal })
      })
    }
  }
}

const toStates = ({ findings }: Examination): Record<string, string> =>
  Object.fromEntries(findings.map(({ name, state }) => [name, state]))
const toFaults = (examination: Examination): Record<string, string> =>
  Object.fromEntries(Object.entries(toStates(examination)).filter(([, state]) => state !== 'works'))

async function countRecords ({ send }: FhirServer): Promise<number[]> {
  return await Promise.all(
    ['Patient', 'Observation', 'Subscription'].map(
      async type => (await send('GET', `${type}?_summary=count`)).body.total
    )
  )
}

t.test(
  'a server with what the gateway relies on passes, and holds nothing of the examination afterwards',
  async t => {
    const { server, examine } = await startWard(t)
    const { id } = await server.store('clinic', { resourceType: 'Patient' })
    const before = await server.read('Patient', id)
    const examination = await examine()
    t.strictSame(toFaults(examination), { everything: 'degraded', validate: 'degraded', export: 'degraded' })
    t.equal(examination.findings.length, checks.length)
    t.strictSame(examination.left, [])
    t.ok(examination.stored > 20)
    t.match(examination.capabilities, { software: 'clinigate sandbox', fhirVersion: '4.0.1' })
    t.strictSame(await countRecords(server), [1, 0, 0])
    t.strictSame(await server.read('Patient', id), before)
  }
)

t.test('on a server unlike HAPI each missing feature is reported, with what the gateway does then', async t => {
  const { server, examine } = await startWard(t, unlikeHapi)
  const examination = await examine()
  t.strictSame(toFaults(examination), {
    'write-shows-record': 'degraded',
    totals: 'degraded',
    'references-checked': 'degraded',
    'referred-to-kept': 'degraded',
    everything: 'degraded',
    validate: 'degraded',
    export: 'degraded'
  })
  t.ok(examination.findings.every(({ state, gateway, change }) => state === 'works' || (gateway && change)))
  t.match(examination.findings.find(({ name }) => name === 'tags-on-update')?.detail, /are removed/)
  t.match(examination.findings.find(({ name }) => name === 'pages')?.detail, /identified by a token/)
  t.strictSame(await countRecords(server), [0, 0, 0])
})

const lacking: ReadonlyArray<
  readonly [what: string, behaviour: Partial<ServerBehaviour>, name: string, detail: RegExp]
> = [
  ['ignores _sort', { ignoredParameters: ['_sort'] }, 'order', /not in that order/],
  ['ignores _lastUpdated', { ignoredParameters: ['_lastUpdated'] }, 'time-limits', /outside the limits/],
  ['ignores _elements', { ignoredParameters: ['_elements'] }, 'elements', /other elements/],
  ['ignores handling=strict', { unknownParameters: 'always ignored' }, 'unknown-parameters', /ignored/],
  ['ignores Prefer: return', { writesShow: 'nothing' }, 'write-shows-record', /does not contain the record/],
  ['leaves a type out of its statement', { unstatedTypes: ['Basic'] }, 'stated-types', /not listed: Basic/],
  ['does not take writes of a type', { readOnlyTypes: ['Claim'] }, 'written-types', /: Claim$/],
  ['lacks a search parameter', { missingParameters: ['Claim.use'] }, 'stated-filters', /claims\?use/],
  [
    'lacks the search parameter of a reference',
    { missingParameters: ['Claim.patient'] },
    'stated-includes',
    /not listed: Claim:patient$/
  ]
]

for (const [what, behaviour, name, detail] of lacking) {
  t.test(`a server that ${what} is reported as degraded, with what to change, and is left clean`, async t => {
    const { server, examine } = await startWard(t, behaviour)
    const { findings, left } = await examine()
    const { state, gateway, change, ...found } = findings.find(finding => finding.name === name)!
    t.match([state, found.detail, gateway, change], ['degraded', detail, /\w/, /\w/])
    t.notOk(findings.some(({ state }) => state === 'blocks'))
    t.strictSame([left, await countRecords(server)], [[], [0, 0, 0]])
  })
}

const withoutHeader = (header: string): Between => send => request => {
  const { [header]: _, ...headers } = request.headers ?? {}
  return send({ ...request, headers })
}

const rewriteBody =
  (change: (text: string, baseUrl: string) => string): Between =>
    (send, baseUrl) =>
      async request => {
        const response = await send(request)
        return { ...response, body: change(response.body, baseUrl) }
      }

/** A server that checks If-Match before it waits for another update, and not afterwards. */
const raceUpdates: Between = send => {
  let pending = 0
  return async request => {
    if (request.method !== 'PUT') return await send(request)
    try {
      return await (pending++ > 0 ? withoutHeader('if-match')(send, '') : send)(request)
    } finally {
      pending--
    }
  }
}

const faulty: ReadonlyArray<readonly [what: string, between: Between, names: readonly string[]]> = [
  ['passes over If-Match', withoutHeader('if-match'), ['if-match']],
  ['performs several updates of one version that come at the same moment', raceUpdates, ['if-match']],
  ['passes over If-None-Exist', withoutHeader('if-none-exist'), ['conditional-create']],
  [
    'links its pages to another address',
    rewriteBody((text, baseUrl) => text.replaceAll(`"url":"${baseUrl}/`, '"url":"http://fhir.internal:8080/fhir/')),
    ['pages']
  ],
  [
    'is of another version of FHIR',
    rewriteBody(text => text.replace('"fhirVersion":"4.0.1"', '"fhirVersion":"5.0.0"')),
    ['statement']
  ],
  [
    'shows references with another address than the configured one',
    rewriteBody(text => text.replaceAll('"reference":"Patient/', '"reference":"http://fhir.internal:8080/fhir/Patient/')),
    ['references-shown']
  ],
  ['drops tags', rewriteBody(text => text.replaceAll(/"tag":\[.*?\]/g, '"tag":[]')), ['create']],
  [
    'performs half of a transaction',
    send => async request => {
      const response = await send(request)
      if (request.path === '' && response.status >= 400) {
        await send({
          method: 'POST',
          path: 'Observation',
          body: JSON.stringify(JSON.parse(request.body!).entry[0].resource)
        })
      }
      return response
    },
    ['transaction-whole']
  ]
]

for (const [what, between, names] of faulty) {
  t.test(`a server that ${what} is reported as blocking, and is left clean`, async t => {
    const { server, examine } = await startWard(t)
    const examination = await examine(between)
    t.strictSame(
      Object.entries(toStates(examination))
        .filter(([, state]) => state === 'blocks')
        .map(([name]) => name),
      names
    )
    t.strictSame(await countRecords(server), [0, 0, 0])
    t.strictSame(examination.left, [])
  })
}

t.test('on a server that ignores tags in searches, nothing but what the examination stored is deleted', async t => {
  const { server, examine } = await startWard(t)
  const ids = await server.storeAll('clinic', [{ resourceType: 'Patient' }, { resourceType: 'Observation' }])
  const examination = await examine(
    send => request => send({ ...request, path: request.path.replaceAll(/([?&])_tag=[^&]*&?/g, '$1') })
  )
  t.equal(toStates(examination)['tag-search'], 'blocks')
  t.strictSame(await countRecords(server), [1, 1, 0])
  t.equal((await server.read('Patient', ids[0]!)).id, ids[0])
})

t.test('a server that refuses the credential, or does not respond, ends the examination at once', async t => {
  const { examine } = await startWard(t)
  for (const [failure, detail] of [
    [
      new Failure('BACKEND_ERROR', { cause: { status: 401, reason: "the gateway's credential was rejected" } }),
      /the credential was refused with status 401/
    ],
    [new Failure('BACKEND_UNAVAILABLE', { cause: new Error('x') }), /it does not answer/]
  ] as const) {
    const { findings, stored, left } = await examine(() => async () => {
      throw failure
    })
    t.match(findings, [{ name: 'reachable', state: 'blocks', detail }])
    t.strictSame([findings.length, stored, left], [1, 0, []])
  }
})

// An invalid certificate was reported as no response, with the advice to look at the URL and auth.
t.test('a server whose certificate, name or credential is wrong is reported with the setting to change', async t => {
  const { examine } = await startWard(t)
  for (const [code, detail, change] of [
    ['CERT_HAS_EXPIRED', 'its certificate has expired', /Renew/],
    ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'its certificate is not trusted', /caFile/],
    ['ERR_TLS_CERT_ALTNAME_INVALID', 'its certificate is for another host name', /host name in datastores\.<name>\.url/],
    ['ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED', 'it requires a client certificate', /clientCertFile/],
    ['ENOTFOUND', 'its host name is unknown', /name service/]
  ] as const) {
    const cause = Object.assign(new Error('x'), { code })
    const { findings } = await examine(() => async () => {
      throw new Failure('BACKEND_UNAVAILABLE', { cause })
    })
    t.match(findings, [{ name: 'reachable', detail: `it does not answer (${detail}: ${code})`, change }])
  }
})

t.test('an examination that fails or is ended midway cleans up all the same', async t => {
  const { server, examine } = await startWard(t)
  let sent = 0
  const failing = await examine(send => async request => {
    if (++sent > 60 && request.method === 'POST') throw new Failure('BACKEND_ERROR', { cause: new Error('x') })
    return await send(request)
  })
  t.ok(Object.values(toStates(failing)).includes('blocks'))
  t.strictSame([failing.left, await countRecords(server)], [[], [0, 0, 0]])
  const interrupt = new AbortController()
  const ended = await examine(send => request => {
    if (request.path === 'Observation') interrupt.abort()
    return send(request)
  }, interrupt.signal)
  t.ok(ended.findings.length < checks.length)
  t.strictSame([ended.left, await countRecords(server)], [[], [0, 0, 0]])
})

t.test('records that cannot be deleted are named, and deleted by the next examination', async t => {
  const { server, examine } = await startWard(t)
  const examination = await examine(send => request => {
    if (request.method === 'DELETE') throw new Failure('BACKEND_ERROR', { cause: { status: 500 } })
    return send(request)
  })
  t.ok(examination.left.length > 20)
  t.ok(examination.left.every(record => /^(Patient|Observation|Subscription)\//.test(record)))
  t.not((await countRecords(server))[0], 0)
  t.strictSame((await examine()).left, [])
  t.strictSame(await countRecords(server), [0, 0, 0])
})
