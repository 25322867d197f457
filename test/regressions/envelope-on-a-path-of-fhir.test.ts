import t from 'tap'
import { answersIn, exchangeRaw } from '../harness/raw-http.js'
import { startGateway } from '../harness/gateway.js'

// What was refused before a route was known got the envelope, which no FHIR client reads.
t.test(
  'whatever is refused below /v1/fhir is refused with an OperationOutcome, and elsewhere with the envelope',
  async t => {
    const { url } = await startGateway(t)
    for (const [line, isFhir] of [
      ['GET /v1/fhir/%zz', true],
      ['GET /v1/fhir/%', true],
      [`GET /v1/fhir?x=${'x'.repeat(20_000)}`, true],
      ['GET /v1/fhirs/%zz', false],
      [`GET /v1/patients?x=${'x'.repeat(20_000)}`, false]
    ] as const) {
      const [answer] = answersIn(await exchangeRaw(url, `${line} HTTP/1.1\r\nhost: h\r\nconnection: close\r\n\r\n`))
      const expected = isFhir
        ? { resourceType: 'OperationOutcome', issue: [{ code: 'invalid' }] }
        : { data: null, code: 'BAD_REQUEST' }
      t.match(
        answer,
        {
          status: 400,
          headers: { 'content-type': isFhir ? /^application\/fhir\+json/ : /^application\/json/ },
          body: expected
        },
        line.slice(0, 40)
      )
    }
  }
)
