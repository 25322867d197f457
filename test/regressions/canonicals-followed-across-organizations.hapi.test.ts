import { randomUUID } from 'node:crypto'
import t from 'tap'
import { realBackend } from '../harness/backend.js'
import { clientOf } from '../harness/client.js'
import { fhirServer } from '../harness/fhir-server.js'
import { startGateway } from '../harness/gateway.js'

const { url } = realBackend()
const server = fhirServer(url)
const questionnaire = `http://example.org/Questionnaire/${randomUUID()}`

// HAPI follows a canonical to whatever has that url, and a thousand records at most: who had 999 of their own saw
// whether there was another.
t.test('no organization can count by a canonical URL what others have', async t => {
  const gateway = await startGateway(t, { fhirUrl: url })
  const [client, other] = [await clientOf(gateway), await clientOf(gateway)]
  await server.storeAll(
    client.tenantId,
    Array.from({ length: 999 }, () => ({ resourceType: 'Questionnaire', status: 'active', url: questionnaire }))
  )
  await server.storeAll(client.tenantId, [
    { resourceType: 'QuestionnaireResponse', status: 'completed', questionnaire }
  ])
  const requested = [
    'fhir/Questionnaire?_count=0&_has:QuestionnaireResponse:questionnaire:status=completed',
    'fhir/QuestionnaireResponse?_include=QuestionnaireResponse:questionnaire&_include:iterate=Questionnaire:composed-of',
    'fhir/QuestionnaireResponse?_count=1&_include:iterate=QuestionnaireResponse:questionnaire'
  ]
  const answers = async () => await Promise.all(requested.map(async path => {
    const { status, body } = await client.send('GET', path)
    return { path, status, total: body.total, entries: body.entry?.length, issue: body.issue }
  }))
  const before = await answers()
  await server.storeAll(other.tenantId, [{ resourceType: 'Questionnaire', status: 'active', url: questionnaire }])
  t.same(await answers(), before)
})
