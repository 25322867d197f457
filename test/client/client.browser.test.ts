import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { startBrowser } from '../harness/browser.js'
import { startGateway } from '../harness/gateway.js'

const page =
  '<!DOCTYPE html><script type="importmap">{ "imports": { "clinigate/client": "/made/client/index.js", "openapi-fetch": "/made/openapi-fetch.js" } }</script>'

/** The files that the package of the client ships, and its dependencies. */
async function readPackageFile (path: string): Promise<string> {
  const url =
    path === '/made/openapi-fetch.js'
      ? import.meta.resolve('openapi-fetch')
      : import.meta.resolve('clinigate/client').replace('/client/index.js', path.replace('/made', ''))
  return await readFile(fileURLToPath(url), 'utf8')
}

t.test('the client works in a browser, as the package ships it', { timeout: 300_000 }, async t => {
  const { url, createKey } = await startGateway(t)
  const { secret } = await createKey()
  const tab = await (await startBrowser(t)).newPage()
  await tab.route(`${url}/page`, route => route.fulfill({ contentType: 'text/html', body: page }))
  await tab.route(`${url}/made/**`, async route =>
    route.fulfill({ contentType: 'text/javascript', body: await readPackageFile(new URL(route.request().url()).pathname) })
  )
  await tab.goto(`${url}/page`)
  const result = await tab.evaluate(`(async () => {
    const { createClient, ClinigateError } = await import('clinigate/client')
    const client = createClient(${JSON.stringify({ url, key: secret })})
    const { id } = await client.patients.create({ firstName: 'Ada', lastName: 'Byron' })
    const found = []
    for await (const patient of client.patients.all({ lastName: 'byr' })) found.push(patient.fullName)
    await client.patients.delete(id)
    const error = await client.patients.read(id).catch(error => error)
    return { found, isError: error instanceof ClinigateError, code: error.code }
  })()`)
  t.strictSame(result, { found: ['Ada Byron'], isError: true, code: 'NOT_FOUND' })
})
