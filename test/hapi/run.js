/** `npm run hapi`: a real HAPI FHIR R4 JPA server in the foreground, in memory, until SIGTERM or Ctrl-C. */
import { existsSync, renameSync, rmSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { archive, startHapi } from './launcher.js'
import { buildWhenNeeded } from './maven.js'

const { values } = parseArgs({
  options: {
    port: { type: 'string', default: '8080' },
    set: { type: 'string', multiple: true, default: [] },
    jvm: { type: 'string', multiple: true, default: [] },
    archive: { type: 'boolean', default: false },
    build: { type: 'boolean', default: false }
  }
})
const settings = Object.fromEntries(
  values.set.map(pair => [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)])
)
const stopping = new AbortController()
for (const name of ['SIGINT', 'SIGTERM']) process.on(name, () => stopping.abort())

try {
  if (values.build) await buildWhenNeeded({ log: console.error, signal: stopping.signal })
  else await (values.archive ? writeArchive() : serve())
} catch (error) {
  if (!stopping.signal.aborted) {
    console.error(error.message)
    process.exitCode = 1
  }
}

async function serve () {
  const hapi = await startHapi({
    port: Number(values.port),
    settings,
    jvm: values.jvm,
    log: console.error,
    signal: stopping.signal
  })
  console.log(`HAPI FHIR is ready at ${hapi.url}`)
  await hapi.ended
  if (!stopping.signal.aborted) throw new Error('HAPI ended by itself')
}

/** Java writes the archive when it ends, which takes about ten seconds. */
async function writeArchive () {
  const unfinished = `${archive}.${process.pid}`
  rmSync(archive, { force: true })
  try {
    const hapi = await startHapi({
      settings,
      jvm: [`-XX:ArchiveClassesAtExit=${unfinished}`],
      log: console.error,
      signal: stopping.signal
    })
    await fetch(`${hapi.url}/metadata`).then(response => response.arrayBuffer())
    await hapi.stop()
    if (!existsSync(unfinished)) throw new Error('Java wrote no archive')
    renameSync(unfinished, archive)
    console.log('The class archive is written; from now on HAPI starts faster')
  } finally {
    rmSync(unfinished, { force: true })
  }
}
