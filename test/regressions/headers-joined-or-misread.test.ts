import t, { type Test } from 'tap'
import { startGateway } from '../harness/gateway.js'
import { answersIn, exchangeRaw } from '../harness/raw-http.js'
import { bundle, patient, sender } from '../passthrough/fixture.js'

const json = 'content-type: application/fhir+json'
const body = JSON.stringify(patient({ name: [{ family: 'Müller' }], identifier: [{ system: 'urn:mrn', value: '1' }] }))

/** A gateway, and what posts to it over a socket, in UTF-8, as clients write headers. */
async function begun (t: Test) {
  const gateway = await startGateway(t)
  const { secret } = await gateway.createKey()
  const post = async (type: string, content: string, ...headers: readonly string[]) => {
    const head = [
      `POST /v1/fhir/${type} HTTP/1.1`,
      'host: gateway.test',
      `x-api-key: ${secret}`,
      'connection: close',
      `content-length: ${Buffer.byteLength(content)}`,
      ...headers
    ]
    const [answer] = answersIn(await exchangeRaw(gateway.url, Buffer.from(`${head.join('\r\n')}\r\n\r\n${content}`)))
    return { status: answer!.status, body: JSON.parse(answer!.text) }
  }
  return { post, send: sender(gateway, secret) }
}

const refusedFor = (header: string, says: RegExp) => ({
  status: 400,
  body: { issue: [{ diagnostics: new RegExp(`^${header}: .*${says.source}`) }] }
})

// Node takes the bytes for Latin-1, so that no record matched and the same patient was made each time.
t.test('a condition outside of ASCII is refused, and taken when it is percent-encoded', async t => {
  const { post, send } = await begun(t)
  t.match(
    await post('Patient', body, json, 'if-none-exist: family=Müller'),
    refusedFor('If-None-Exist', /printable ASCII/)
  )
  t.equal((await send('GET', '/Patient?_summary=count')).resource.total, 0, 'nothing was made')
  const encoded = `if-none-exist: family=${encodeURIComponent('Müller')}`
  t.equal((await post('Patient', body, json, encoded)).status, 201)
  t.equal((await post('Patient', body, json, encoded)).status, 200)
})

// Joined by a comma they were one condition with two values, of which none is the record's.
t.test('a condition that is sent twice is refused', async t => {
  const { post, send } = await begun(t)
  const header = 'If-None-Exist: identifier=urn:mrn|1'
  t.match(await post('Patient', body, json, header, header), refusedFor('If-None-Exist', /once/))
  t.equal((await send('GET', '/Patient?_summary=count')).resource.total, 0, 'nothing was made')
  t.equal((await post('Patient', body, json, header)).status, 201)
  t.equal((await post('Patient', body, json, header)).status, 200)
})

t.test('so is the owner of a content', async t => {
  const { post, send } = await begun(t)
  const { id } = (await send('POST', '/Patient', patient())).resource
  const header = `X-Security-Context: Patient/${id}`
  t.match(
    await post('Binary', 'content', 'content-type: text/plain', header, header),
    refusedFor('X-Security-Context', /once/)
  )
  t.match(
    await post('Binary', 'content', 'content-type: text/plain', `${header}ü`),
    refusedFor('X-Security-Context', /printable ASCII/)
  )
  t.equal((await post('Binary', 'content', 'content-type: text/plain', header)).status, 201)
})

t.test('in an entry of a Bundle, which is UTF-8, a condition has any character', async t => {
  const { send } = await begun(t)
  const once = bundle('transaction', {
    resource: JSON.parse(body),
    request: { method: 'POST', url: 'Patient', ifNoneExist: 'family=Müller' }
  })
  t.match((await send('POST', '', once)).resource.entry, [{ response: { status: /^201/ } }])
  t.match((await send('POST', '', once)).resource.entry, [{ response: { status: /^200/ } }])
})
