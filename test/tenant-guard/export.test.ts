import t from 'tap'
import { createInterruption } from '../jobs/interrupted.js'
import type { Fault } from './exporting-server.js'
import {
  requireComplete, createFault, readLines, buildTaggedLines, startScene, buildTaggedLine, tenantId
} from './exporting-scene.js'
import { system } from './guarded.js'

t.test("the datastore gets one filter with the tenant's tag for each type, and nothing else", async t => {
  const { server, job } = await startScene(t, {
    since: '2026-01-01T00:00:00Z',
    filters: { Patient: [[['family', 'x,Patient?active=true&_tag=y']]] }
  })
  t.equal(await job.run(), 'ended')
  const kickOff = server.seen.find(({ method }) => method === 'POST')!
  t.match(kickOff.headers, { prefer: 'respond-async', 'x-request-id': 'job-1' })
  const tag = `_tag=${encodeURIComponent(`${system}|${tenantId}`)}`
  t.strictSame(JSON.parse(kickOff.body), {
    resourceType: 'Parameters',
    parameter: [
      { name: '_outputFormat', valueString: 'application/fhir+ndjson' },
      { name: '_type', valueString: 'Patient,Observation' },
      { name: '_since', valueInstant: '2026-01-01T00:00:00Z' },
      { name: '_typeFilter', valueString: `Patient?family=x%2CPatient%3Factive%3Dtrue%26_tag%3Dy&${tag}` },
      { name: '_typeFilter', valueString: `Observation?${tag}` }
    ]
  })
  t.ok(server.seen.filter(({ path }) => path.includes('_count=0')).every(({ path }) => path.includes(tag)))
})

t.test('files are joined by type, and the job reports their lines and bytes', async t => {
  const exportScene = await startScene(t)
  t.equal(await exportScene.job.run(), 'ended')
  requireComplete(t, exportScene)
  t.strictSame(exportScene.job.job.files.map(({ name }) => name), ['Patient.ndjson', 'Observation.ndjson'])
  t.strictSame(exportScene.job.job.progress, { total: 760, processed: 760, failed: 0 })
})

t.test('references that the datastore exports with its base URL are relative in the files', async t => {
  const exportScene = await startScene(t)
  const observationAbout = (reference: string) => buildTaggedLine('Observation', 'o1', tenantId, { subject: { reference } })
  exportScene.server.files = [{ type: 'Observation', lines: [observationAbout(`${exportScene.server.url}/Patient/p1`)] }]
  t.equal(await exportScene.job.run(), 'ended')
  t.strictSame(readLines(exportScene.job, 'Observation'), [observationAbout('Patient/p1')])
})

t.test('an export that is interrupted at any step, any number of times, loses no line and doubles none', async t => {
  const exportScene = await startScene(t)
  exportScene.server.polls = 0
  // After each portion, and no sooner than it must.
  for (const saveEveryMs of [0, Infinity]) {
    const uninterrupted = exportScene.createJob()
    await uninterrupted.run({ saveEveryMs })
    t.ok(uninterrupted.steps() > 5)
    for (let breaksAt = 0; breaksAt <= uninterrupted.steps(); breaksAt++) {
      const job = exportScene.createJob()
      t.equal(
        await job.run({ breaksAt, saveEveryMs }),
        breaksAt < uninterrupted.steps() ? 'broken off' : 'ended',
        `at step ${breaksAt}`
      )
      for (let more = 1; await job.run({ breaksAt: more, saveEveryMs }) !== 'ended'; more++);
      requireComplete(t, { ...exportScene, job })
    }
  }
})

const respondBusy = (status: number) => (response: Parameters<Fault>[1]) => {
  response.writeHead(status, { 'retry-after': '1' }).end()
}
const respondHtml = (response: Parameters<Fault>[1]): void => {
  response.writeHead(200, { 'content-type': 'text/html' }).end('<html>')
}
const respondHalfBody = (response: Parameters<Fault>[1]): void => {
  response.writeHead(200, { 'content-type': 'application/fhir+ndjson', 'content-length': '99999' })
  response.write(`${buildTaggedLines('Patient', 0, 300).join('\n')}\n{"half`)
  setTimeout(() => response.destroy(), 20)
}

t.test(
  'a request to a datastore that is busy or breaks off in the middle of a file is retried, from there on',
  { timeout: 300_000 },
  async t => {
    for (const [name, fault] of [
      ['429 to the kick-off', createFault(/^\/\$export$/, 1, respondBusy(429))],
      ['503 to a poll', createFault(/poll/, 1, respondBusy(503))],
      ['503 to a file', createFault(/^\/Binary\/0/, 1, respondBusy(503))],
      ['half a file', createFault(/^\/Binary\/0/, 2, respondHalfBody)],
      [
        'a broken connection',
        createFault(/^\/Binary\/2/, 1, response => {
          response.destroy()
        })
      ],
      ['500 to a file', createFault(/^\/Binary\/1/, 1, respondBusy(500))]
    ] as const) {
      const exportScene = await startScene(t)
      exportScene.server.fault = fault
      t.equal(await exportScene.job.run(), 'ended', name)
      requireComplete(t, exportScene)
    }
  }
)

t.test(
  'a malformed response is a failure, and a later run goes on from where the earlier one stood',
  { timeout: 300_000 },
  async t => {
    for (const [name, fault] of [
      ['HTML in place of a state', createFault(/poll/, 1, respondHtml)],
      ['HTML in place of a file', createFault(/^\/Binary\/2/, 1, respondHtml)],
      [
        'a redirect of a file',
        createFault(/^\/Binary\/0/, 1, response => {
          response.writeHead(302, { location: 'http://127.0.0.1:1/' }).end()
        })
      ],
      [
        'a redirect of a state',
        createFault(/poll/, 1, response => {
          response.writeHead(307, { location: 'http://127.0.0.1:1/' }).end()
        })
      ],
      ['a refused credential', createFault(/^\/Binary\/0/, 1, respondBusy(401))],
      [
        'a line that ends in the midst',
        createFault(/^\/Binary\/0/, 1, response => {
          response
            .writeHead(200, { 'content-type': 'application/fhir+ndjson' })
            .end(`${buildTaggedLines('Patient', 0, 300).join('\n')}\n{"resourceType":`)
        })
      ],
      [
        'bytes that are no text',
        createFault(/^\/Binary\/0/, 1, response => {
          response
            .writeHead(200, { 'content-type': 'application/fhir+ndjson' })
            .end(Buffer.from([0x22, 0xff, 0x22, 0x0a]))
        })
      ]
    ] as const) {
      const exportScene = await startScene(t)
      exportScene.server.fault = fault
      await t.rejects(exportScene.job.run(), { code: 'BACKEND_ERROR', status: 502 }, name)
      t.equal(await exportScene.job.run(), 'ended', name)
      requireComplete(t, exportScene)
      t.equal(exportScene.incidents.length, 0)
    }
  }
)

t.test('a line that is another\'s is an incident, and the export is the same as without it', async t => {
  const foreign: Array<[string, string]> = [
    ["another's", buildTaggedLine('Patient', 'x', 'another')],
    ['untagged', JSON.stringify({ resourceType: 'Patient', id: 'x', meta: {} })],
    [
      'of two tenants',
      JSON.stringify({
        resourceType: 'Patient',
        id: 'x',
        meta: {
          tag: [
            { system, code: tenantId },
            { system, code: 'another' }
          ]
        }
      })
    ],
    [
      'a tag in other letters',
      JSON.stringify({
        resourceType: 'Patient',
        id: 'x',
        meta: {
          tag: [
            { system, code: tenantId },
            { system: system.toUpperCase(), code: 'a' }
          ]
        }
      })
    ]
  ]
  for (const [name, line] of foreign) {
    const without = await startScene(t)
    await without.job.run()
    const exportScene = await startScene(t)
    const own = exportScene.server.files[2]!
    const { lines } = own
    exportScene.server.files[2] = { type: 'Patient', lines: [...lines.slice(0, 40), line, ...lines.slice(40)] }
    t.equal(await exportScene.job.run(), 'ended', name)
    exportScene.server.files[2] = own
    requireComplete(t, exportScene)
    t.strictSame(exportScene.job.job.progress, without.job.job.progress, name)
    t.strictSame([...exportScene.job.disk], [...without.job.disk], name)
    t.match(exportScene.incidents, [{ kind: 'foreign-match', interaction: 'export', type: 'Patient', tenantId, records: 1 }])
  }
})

t.test('a line that is no record of its type fails the export', async t => {
  for (const line of [
    buildTaggedLine('Observation', 'x'),
    JSON.stringify({ resourceType: 'Patient', meta: { tag: [{ system, code: tenantId }] } }),
    '[]',
    'null'
  ]) {
    const { server, job } = await startScene(t)
    server.files[2] = { type: 'Patient', lines: [...buildTaggedLines('Patient', 700, 40), line, ...buildTaggedLines('Patient', 740, 10)] }
    await t.rejects(job.run(), { code: 'BACKEND_ERROR' }, line)
  }
})

t.test(
  "a file that is not below the datastore's base URL is never fetched; the records are scanned in its place",
  async t => {
    for (const url of [
      'http://127.0.0.1:1/fhir/Binary/0',
      'https://evil.example/fhir/Binary/0',
      '//evil.example/fhir/Binary/0',
      'http://user:secret@127.0.0.1/fhir/Binary/0',
      '../../metadata',
      'file:///etc/passwd',
      ''
    ]) {
      const { server, job } = await startScene(t)
      server.output = () => [{ type: 'Patient', url }]
      await t.rejects(job.run(), { code: 'BACKEND_ERROR' }, `${url}: this server has nothing but an export`)
      t.notOk(server.seen.some(({ path }) => path.includes('Binary')))
      t.match(server.seen.at(-1)?.path, /^\/Patient\?.*_sort=_lastUpdated/, url)
    }
    const { server, job } = await startScene(t)
    server.output = base => [{ type: 'Device', url: `${base}/Binary/0` }]
    await t.rejects(job.run(), { code: 'BACKEND_ERROR' }, 'a type that was not requested')
    server.fault = createFault(/^\/\$export$/, 1, response => {
      response.writeHead(202, { 'content-location': 'https://evil.example/fhir/$export-poll-status' }).end()
    })
    const other = await startScene(t)
    other.server.fault = server.fault
    await t.rejects(other.job.run(), { code: 'BACKEND_ERROR' }, 'the address of the export itself')
  }
)

t.test(
  'an export that the datastore has lost, or whose files are gone, is started again there, and nothing comes twice',
  async t => {
    for (const path of [/poll/, /^\/Binary\/1/]) {
      const exportScene = await startScene(t)
      exportScene.server.fault = createFault(path, 1, response => {
        response.writeHead(404, { 'content-type': 'application/fhir+json' }).end('{}')
      })
      t.equal(await exportScene.job.run(), 'ended')
      requireComplete(t, exportScene)
      t.equal(exportScene.server.seen.filter(({ method, path }) => method === 'POST' && path === '/$export').length, 2)
    }
  }
)

t.test(
  'a cancelled or revoked export is ended in the datastore too; one that goes on elsewhere is not',
  async t => {
    for (const [why, deletes] of [
      ['cancelled', 1],
      ['revoked', 1],
      ['lost', 0],
      ['stopping', 0]
    ] as const) {
      const { server, job } = await startScene(t)
      server.polls = 1_000
      const controller = new AbortController()
      server.fault = ({ path }) => {
        if (path.includes('poll')) setTimeout(() => controller.abort(createInterruption(why)), 5)
      }
      await t.rejects(job.run({ signal: controller.signal }))
      t.equal(server.seen.filter(({ method }) => method === 'DELETE').length, deletes, why)
      if (deletes > 0) continue
      server.fault = () => false
      server.polls = 1
      t.equal(await job.run(), 'ended')
      t.equal(
        server.seen.filter(({ method, path }) => method === 'POST' && path === '/$export').length,
        1,
        'another one goes on with the same export'
      )
    }
  }
)

t.test('a line of any length up to the maximum is exported, wherever its chunks are cut', async t => {
  const { server, job } = await startScene(t)
  const long = buildTaggedLine('Patient', 'long', tenantId, { text: { div: 'größe 😀 '.repeat(100_000) } })
  server.files = [{ type: 'Patient', lines: [buildTaggedLine('Patient', 'a'), long, '', '  ', buildTaggedLine('Patient', 'b')] }]
  t.equal(await job.run(), 'ended')
  t.strictSame(readLines(job, 'Patient'), [buildTaggedLine('Patient', 'a'), long, buildTaggedLine('Patient', 'b')])
})

t.test("the datastore's URLs are the gateway's in exported records, escaped or not", async t => {
  const { server, job } = await startScene(t)
  server.files = [
    {
      type: 'Patient',
      lines: [
        buildTaggedLine('Patient', 'a', tenantId, { implicitRules: `${server.url}/x` }),
        buildTaggedLine('Patient', 'b', tenantId, { implicitRules: `${server.url}/y`, multipleBirthDecimal: 1 })
          .replaceAll('/', '\\/')
          .replace(':1}', ':1.10}') + '\r'
      ]
    }
  ]
  t.equal(await job.run(), 'ended')
  const text = job.disk.get('Patient.ndjson')!.toString()
  t.notMatch(text, /127\.0\.0\.1|\r/)
  t.match(text, /"implicitRules":"http:\/\/gateway\.test\/v1\/fhir\/y","multipleBirthDecimal":1\.10}/)
})
