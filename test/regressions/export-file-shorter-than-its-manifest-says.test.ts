import t from 'tap'
import { requireWhole, faulty, scene } from '../tenant-guard/exporting-scene.js'

// A file of the datastore's native export whose connection broke between two lines, and which had no length, was taken
// for whole: the export was completed without the rest.
const cutOff = ({ files }: Awaited<ReturnType<typeof scene>>['server'], times: number) =>
  faulty(/^\/Binary\/0/, times, response => {
    response.writeHead(200, { 'content-type': 'application/fhir+ndjson', connection: 'close' })
    response.useChunkedEncodingByDefault = false
    response.end(`${files[0]!.lines.slice(0, 300).join('\n')}\n`)
  })

t.test(
  'a file with fewer lines than the manifest says is fetched anew, and where it stays so the records are searched',
  async t => {
    for (const times of [1, 2]) {
      const made = await scene(t)
      const { server, job } = made
      server.output = url =>
        server.files.map(({ type, lines }, at) => ({ type, url: `${url}/Binary/${at}`, count: lines.length }))
      server.fault = cutOff(server, times)
      t.equal(await job.run(), 'ended')
      requireWhole(t, made)
      t.equal(server.seen.filter(({ method }) => method === 'POST').length, times + 1, 'the export was begun anew')
    }
    const { server, job } = await scene(t)
    server.output = url =>
      server.files.map(({ type, lines }, at) => ({ type, url: `${url}/Binary/${at}`, count: lines.length }))
    server.fault = cutOff(server, Infinity)
    await job.run().catch(() => {})
    t.ok(
      server.seen.some(
        ({ method, path }) => method === 'GET' && /^\/Patient\?/.test(path) && !path.includes('_count=0')
      ),
      'the records are searched'
    )
  }
)
