import t from 'tap'
import { startGateway } from '../harness/gateway.js'

// A parameter beside the media type made it another type, so that well-meaning clients got 406.
t.test('a media type is accepted with the parameters that are true of every answer', async t => {
  const { createKey, inject } = await startGateway(t)
  const { secret } = await createKey()
  const get = (url: string, accept: string) => inject({ url, headers: { 'x-api-key': secret, accept } })
  for (const accept of [
    'application/json; charset=utf-8',
    'application/json;charset="UTF-8"',
    'application/fhir+json; fhirVersion=4.0',
    'application/fhir+json; fhirVersion=4.0; charset=utf-8; q=0.8'
  ]) {
    for (const url of ['/v1/patients', '/v1/fhir/Patient', '/v1/metadata']) {
      t.equal((await get(url, accept)).statusCode, 200, `${url} ${accept}`)
    }
  }
  for (const accept of ['application/fhir+json; fhirVersion=3.0', 'application/json; charset=utf-16']) {
    for (const url of ['/v1/patients', '/v1/fhir/Patient']) {
      t.equal((await get(url, accept)).statusCode, 406, `${url} ${accept}`)
    }
  }
  t.match((await get('/v1/metadata', 'application/json; charset=utf-8')).headers['content-type'], /^application\/json/)
})
