import { test } from 'tap'
import { startGateway } from '../harness/gateway.js'
import { mappings } from '../../src/mappings/registry.js'
import { openApiDocument } from '../../src/api/openapi/document.js'

const wrong = /\b(?:a (?=[AEIO][a-z])|an (?=[B-DF-HJ-NP-Z][a-z]))[A-Za-z]+/

// "the id of a Encounter alone" stood in refusals and, for a hundred fields, in the documentation.
test('the name of a type has the right article in messages', async t => {
  const { inject, createKey } = await startGateway(t)
  const { secret } = await createKey()
  const answerOf = async (method: 'GET' | 'POST', path: string, payload?: object): Promise<string> =>
    (
      await inject({
        method,
        url: `/v1/${path}`,
        headers: { 'x-api-key': secret, 'content-type': 'application/json' },
        ...(payload && { payload })
      })
    ).body
  t.match(
    await answerOf('POST', 'observations', { patientId: '1', code: 'x', encounterId: 'Patient/1' }),
    'the id of an Encounter alone'
  )
  t.match(await answerOf('POST', 'observations', { patientId: '/', code: 'x' }), 'the id of a Patient alone')
  t.match(await answerOf('GET', 'observations?encounterId=Encounter/a/b'), 'the id of an Encounter')
  t.match(await answerOf('GET', 'encounters/1?_revinclude=Observation'), 'that leads to an Encounter')
})

test('and in the documentation', t => {
  const texts = JSON.stringify(openApiDocument(mappings, { version: '1', url: 'http://localhost' }))
  t.equal(wrong.exec(texts)?.[0], undefined)
  t.end()
})
