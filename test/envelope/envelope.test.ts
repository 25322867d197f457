import Fastify from 'fastify'
import fc from 'fast-check'
import t from 'tap'
import { handleError, toFailure } from '../../src/envelope/error-handlers.js'
import { Failure, catalog, fieldIssue, type FailureCode, type Issue } from '../../src/envelope/failures.js'
import { identity } from '../../src/envelope/request-metadata.js'
import { findNearest } from '../../src/envelope/nearest.js'
import { envelope } from '../../src/envelope/reply.js'
import { resolveRequestId } from '../../src/http/server-options.js'
import { serializeError } from '../../src/http/log.js'
import { ExactNumber } from '../../src/json/json.js'

const now = () => new Date('2030-01-02T03:04:05.678Z')

/** A scope in which `/` runs the handler of the test. */
async function startHandler (handler: () => unknown) {
  const app = Fastify({ genReqId: request => resolveRequestId(request, () => 'made') })
  app.setErrorHandler(handleError)
  await app.register(identity, { now })
  await app.register(envelope)
  app.get('/', async () => handler())
  return (headers: Record<string, string> = {}) => app.inject({ url: '/', headers })
}

t.test('a response has the data, and its meta repeats its headers', async t => {
  const get = await startHandler(() => ({ a: 1 }))
  const response = await get()
  t.strictSame(response.json(), {
    data: { a: 1 },
    meta: {
      requestId: 'made',
      timestamp: '2030-01-02T03:04:05.678Z',
      status: 200,
      rateLimitTotal: null,
      rateLimitRemaining: null,
      rateLimitReset: null
    }
  })
  t.match(response.headers, {
    'x-request-id': 'made',
    'x-timestamp': '2030-01-02T03:04:05.678Z',
    'x-content-type-options': 'nosniff',
    'content-type': 'application/json; charset=utf-8'
  })
})

t.test('number text is preserved in the envelope: 1.10 stays 1.10', async t => {
  const get = await startHandler(() => ({ value: new ExactNumber('1.10'), plain: 2.5 }))
  t.match((await get()).body, '{"data":{"value":1.10,"plain":2.5},')
})

t.test('a request id of the client is used when it has the form, and never otherwise', async t => {
  const get = await startHandler(() => ({}))
  for (const id of ['a', 'A-b_c.9', 'x'.repeat(64)]) {
    t.equal((await get({ 'x-request-id': id })).headers['x-request-id'], id)
  }
  for (const id of ['', ' ', 'x'.repeat(65), 'a b', 'ä', 'a,b', '<script>', 'a/b', 'a:b']) {
    t.equal((await get({ 'x-request-id': id })).headers['x-request-id'], 'made', JSON.stringify(id))
  }
  t.equal(resolveRequestId({ headers: { 'x-request-id': ['a', 'b'] as unknown as string } }, () => 'made'), 'made')
  t.match(resolveRequestId({ headers: {} }), /^[0-9a-f]{8}-[0-9a-f]{4}-7/)
  fc.assert(
    fc.property(fc.string(), sent => /^[A-Za-z0-9._-]{1,64}$/.test(resolveRequestId({ headers: { 'x-request-id': sent } })))
  )
})

t.test(
  'every failure of the catalog responds with its status, code, title and remedy, and nothing of its cause',
  async t => {
    for (const code of Object.keys(catalog) as FailureCode[]) {
      const get = await startHandler(() => {
        throw new Failure(code, { cause: new Error('s3cret') })
      })
      const response = await get()
      const { status, title, remedy } = catalog[code]
      t.equal(response.statusCode, status)
      t.strictSame(response.json(), {
        data: null,
        error: title,
        code,
        message: remedy,
        issues: [],
        requestId: 'made',
        meta: {
          requestId: 'made',
          timestamp: '2030-01-02T03:04:05.678Z',
          status,
          rateLimitTotal: null,
          rateLimitRemaining: null,
          rateLimitReset: null
        }
      })
    }
  }
)

t.test('a failure sets its headers, message and issues', async t => {
  const issues = [fieldIssue('birthDate', 'expected a date')]
  const get = await startHandler(() => {
    throw new Failure('VALIDATION_ERROR', { message: 'm', issues, headers: { 'retry-after': '3' } })
  })
  const response = await get()
  t.match(response.json(), {
    message: 'm',
    issues: [
      { severity: 'error', code: 'invalid', diagnostics: 'birthDate: expected a date', expression: ['birthDate'] }
    ]
  })
  t.equal(response.headers['retry-after'], '3')
})

t.test('the message of a 422 names the first field and its fault, in one sentence, and reports whether there are others', t => {
  const [question, statement] = [
    fieldIssue('firstname', 'no such field; did you mean firstName?', 'structure'),
    fieldIssue('lastName', 'is required', 'required')
  ]
  const formatMessage = (...issues: Issue[]): string => new Failure('VALIDATION_ERROR', { issues }).message
  t.equal(formatMessage(question), 'firstname: no such field; did you mean firstName?')
  t.equal(formatMessage(statement, question), 'lastName: is required. The other faults are listed in issues.')
  t.end()
})

t.test('any other error is INTERNAL_ERROR and reveals nothing of itself', async t => {
  const thrown = [
    new Error('s3cret'),
    new TypeError('s3cret'),
    's3cret',
    null,
    { message: 's3cret' },
    Object.assign(new Error('s3cret'), { statusCode: 503 }),
    Object.assign(new Error('s3cret'), { statusCode: '404' })
  ]
  for (const error of thrown) {
    const get = await startHandler(() => { throw error })
    const response = await get()
    t.equal(response.statusCode, 500)
    t.equal(response.json().code, 'INTERNAL_ERROR')
    t.notMatch(response.body, 's3cret')
  }
})

t.test('an error of the framework maps to one of the catalog', async t => {
  const buildError = (code: string, statusCode = 400) => Object.assign(new Error('s3cret'), { code, statusCode })
  const codes: Array<[string, number, FailureCode]> = [
    ['FST_ERR_CTP_INVALID_MEDIA_TYPE', 415, 'UNSUPPORTED_MEDIA_TYPE'],
    ['FST_ERR_CTP_BODY_TOO_LARGE', 413, 'PAYLOAD_TOO_LARGE'],
    ['FST_ERR_CTP_INVALID_CONTENT_LENGTH', 400, 'BAD_REQUEST'],
    ['FST_ERR_BAD_URL', 400, 'BAD_REQUEST'],
    ['ECONNRESET', 400, 'BAD_REQUEST'],
    ['FST_ERR_REP_INVALID_PAYLOAD_TYPE', 500, 'INTERNAL_ERROR']
  ]
  for (const [code, status, expected] of codes) {
    const failure = toFailure(buildError(code, status))
    t.equal(failure.code, expected, code)
    t.notMatch(failure.message, 's3cret')
  }
  const validation = [{ keyword: 'x', instancePath: '/count', schemaPath: '', params: {}, message: 'must be integer' }]
  t.match(toFailure(Object.assign(new Error('s3cret'), { validation })), {
    code: 'BAD_REQUEST',
    issues: [{ diagnostics: 'count: must be integer', expression: ['count'] }]
  })
})

t.test("the log has an error's kind and place, but nothing of the parsed text or of the request", async t => {
  const catchError = (act: () => unknown): unknown => { try { return act() } catch (error) { return error } }
  const parsed = catchError(() => JSON.parse('<html>Ada Byron'))
  const request = catchError(() => new URL('patients/s3cret id'))
  const serialized = JSON.stringify(serializeError(new Error('outer', { cause: parsed })))
  t.notMatch(serialized, /Ada|html/)
  t.match(serialized, /"type":"Error".*"message":"outer".*envelope\.test.*"cause":\{"type":"SyntaxError"/)
  t.notMatch(JSON.stringify(serializeError(request)), 's3cret')
  t.same(serializeError({ status: 500 }), { status: 500 })
  t.notMatch(
    serializeError(Object.assign(new Error('sent twice in /v1/patients/s3cret'), { code: 'FST_ERR_REP_ALREADY_SENT' })),
    { message: String }
  )
})

t.test('the nearest name is a known one and near, or there is none', async t => {
  const known = ['lastName', 'firstName', 'birthDate', 'active']
  t.equal(findNearest('lastNmae', known), 'lastName')
  t.equal(findNearest('LASTNAME', known), 'lastName')
  t.equal(findNearest('birthday', known), 'birthDate')
  t.equal(findNearest('xyz', known), undefined)
  t.equal(findNearest('x'.repeat(1_000_000), known), undefined)
  t.equal(findNearest('', []), undefined)
})

t.test(
  'the time to retry is in the header and in the message, and no message refers the reader to the header',
  async t => {
    const failure = new Failure('RATE_LIMITED', { retryAfterSeconds: 7 })
    t.match(
      [failure.headers['retry-after'], failure.message, failure.lastingMessage],
      ['7', 'Try again in 7 seconds.', 'Try again later.']
    )
    for (const { remedy } of Object.values(catalog)) t.notMatch(remedy, /Retry-After/)
  }
)
