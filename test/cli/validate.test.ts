import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import t from 'tap'
import { runValidateProcess, validate } from './clinigate.js'

const ada = '{ "firstName": "Ada", "lastName": "Byron", "birthDate": "1990-03-14" }'
const faulty = '{ "firstName": "Ada", "lastName": "Byron", "birthDate": "14.3.1990" }'

t.test('valid records end with 0, a faulty one with 1, each reported with its line and field', async t => {
  t.strictSame(await runValidateProcess(['patients', '-'], [ada]), {
    code: 0,
    out: '1 record checked, none invalid.\n',
    err: ''
  })
  const { code, out, err } = await runValidateProcess(
    ['patients', '-'],
    [`${ada}\n${faulty}\n{ "firstNam": "Ada", "lastName": "Byron" }\n`]
  )
  t.equal(code, 1)
  t.equal(err, '')
  t.strictSame(out.split('\n'), [
    'line 2: birthDate: expected a date such as 1990-03-14, 1990-03 or 1990',
    'line 3: firstNam: no such field; did you mean firstName?',
    '3 records checked, 2 invalid.',
    ''
  ])
})

t.test('a Bundle or a compressed file is reported, and none of it is counted; blank lines are skipped', async t => {
  const bundle = { resourceType: 'Bundle', type: 'collection', entry: [{ resource: { resourceType: 'Patient' } }] }
  for (const file of [JSON.stringify(bundle), JSON.stringify(bundle, null, 2)]) {
    const { code, out } = await runValidateProcess(['patients', '-'], [file])
    t.equal(code, 1)
    t.match(out, /^line 1: .*it is a Bundle; send its resources.*\nThe input contains no records\.\n$/)
  }
  const { out } = await runValidateProcess(['patients', '-'], [gzipSync(ada)])
  t.match(out, /^line 1: .*compressed with gzip; decompress it.*\nThe input contains no records\.\n$/)
  const blank = await runValidateProcess(['patients', '-'], [`\n${ada}\n \n${faulty}\n\n`])
  t.match(blank.out, /^line 4: birthDate.*\n2 records checked, 1 invalid\.\n$/)
})

t.test('the R4 rules are checked too', async t => {
  const value = { code: 'pulse', patientId: 'p', valueInteger: 70, dataAbsentReason: 'unknown' }
  const { out } = await validate(['observations', '-'], [JSON.stringify(value)])
  t.match(out, 'line 1: dataAbsentReason: leave it out when there is a value, or remove the value (obs-6)')
})

t.test('--json prints each faulty record as one line of JSON, and nothing else on standard output', async t => {
  const { code, out, err } = await validate(['patients', '-', '--json'], [`${ada}\n${faulty}\n[]\n`])
  t.equal(code, 1)
  t.equal(err, '3 records checked, 2 invalid.\n')
  t.strictSame(
    out
      .trimEnd()
      .split('\n')
      .map(line => JSON.parse(line)),
    [
      {
        line: 2,
        code: 'VALIDATION_ERROR',
        error: 'Validation error',
        message: 'birthDate: expected a date such as 1990-03-14, 1990-03 or 1990.',
        issues: [
          {
            severity: 'error',
            code: 'invalid',
            diagnostics: 'birthDate: expected a date such as 1990-03-14, 1990-03 or 1990',
            expression: ['birthDate'],
            line: 2
          }
        ]
      },
      { line: 3, code: 'BAD_REQUEST', error: 'Bad request', message: 'Send one JSON object.', issues: [] }
    ]
  )
})

t.test('one document may span many lines, and its faults are reported with their own', async t => {
  const document =
    '\n{\n  "firstName": "Ada",\n  "lastName": "Byron",\n  "identifiers": [\n    { "value": "7" },\n    { "valu": "8" }\n  ]\n}\n'
  t.strictSame((await validate(['patients', '-'], [document])).out.split('\n'), [
    'line 7: identifiers[1].value: is required here',
    'line 7: identifiers[1].valu: no such field; did you mean value?',
    '1 record checked, 1 invalid.',
    ''
  ])
  t.match(await validate(['patients', '-'], ['{ "firstName": "Ada"\n, "lastName": "Byron" }']), {
    code: 0,
    out: '1 record checked, none invalid.\n'
  })
  t.match(await validate(['patients', '-'], ['{\n"firstName": "Ada",\n"lastName" "Byron"\n}']), {
    code: 1,
    out: /^line 3: Invalid JSON\..*\n1 record/
  })
  t.match(
    await validate(
      ['patients', '-'],
      ['{\n"firstName":\n"\xE1"}'].map(text => Buffer.from(text, 'latin1'))
    ),
    { code: 1, out: /^line 3: .*not valid UTF-8/ }
  )
  t.match(await validate(['patients', '-'], ['['.repeat(500_000), '\n']), { code: 1, out: /^line 1: .*nested deeper/ })
})

t.test('a list is rejected as by POST', async t => {
  t.match(await validate(['patients', '-'], [`[\n${ada},\n${ada}\n]`]), {
    code: 1,
    out: 'line 1: Bad request. Send one JSON object.\n1 record checked, 1 invalid.\n'
  })
})

t.test('a truncated first line does not make NDJSON a document', async t => {
  const { out } = await validate(['patients', '-'], [`{ "firstName": "Ada\n${ada}\n${faulty}\n`])
  t.match(out, /^line 1: Invalid JSON.*\nline 3: birthDate.*\n3 records checked, 2 invalid\.\n$/)
  t.match(
    (await validate(['patients', '-', '--ndjson'], [`{\n${ada}`])).out,
    /^line 1: Invalid JSON.*\n2 records/,
    'nor when it is said that there is one a line'
  )
})

t.test('lines may end with CRLF, be empty, and the last one without an end; the line count continues', async t => {
  const { out } = await validate(['patients', '-'], ['\n', `${ada}\r\n`, '\r\n', '  \t\n', faulty])
  t.match(out, /^line 5: birthDate: .*\n2 records checked, 1 invalid\.\n$/)
})

t.test('text that is no strict JSON in UTF-8 is reported by its line, and the next lines are read', async t => {
  const garbled = Buffer.from('{ "firstName": "\xE1da", "lastName": "Byron" }\n', 'latin1')
  const { out } = await validate(
    ['patients', '-'],
    [`${ada}\n`, garbled, '{ "firstName": "Ada", "firstName": "Eve" }\n', 'null\n', faulty]
  )
  t.strictSame(out.split('\n').slice(0, 3), [
    'line 2: Invalid JSON. Correct the JSON: the body is not valid UTF-8.',
    'line 3: Invalid JSON. Correct the JSON: an object has the same name twice.',
    'line 4: Bad request. Send one JSON object.'
  ])
  t.match(out, 'line 5: birthDate')
  t.match(
    (await validate(['patients', '-'], ['\uFEFF', ada])).out,
    'line 1: Invalid JSON. Save the file without a byte order mark.'
  )
})

t.test('no value of a record is ever printed', async t => {
  const secret = 'Quetzalcoatl'
  const records = [
    { firstName: secret, birthDate: secret },
    { firstName: [secret], lastName: { a: secret } },
    { [`${secret} Ada`]: 1 },
    secret,
    [secret],
    { gender: secret, resourceType: secret }
  ]
  for (const more of [[], ['--json']]) {
    const { code, out, err } = await validate(
      ['patients', '-', ...more],
      [records.map(record => JSON.stringify(record)).join('\n'), `\n{ "x": ${secret} }\n`]
    )
    t.equal(code, 1)
    t.notMatch(out + err, secret)
  }
})

t.test('an input without a record is faulty', async t => {
  for (const input of ['', '\n\r\n  ']) {
    t.match(await validate(['patients', '-'], [input]), { code: 1, out: 'The input contains no records.\n' })
  }
})

t.test(
  'invalid arguments end with 2: for an unknown resource with the nearest name, for an unreadable file with the reason',
  async t => {
    const folder = t.testdir({ 'patients.json': ada })
    t.match(await runValidateProcess(['patiens', '-']), { code: 2, out: '', err: /No such resource; did you mean patients\?/ })
    t.match(await validate(['Patient']), { code: 2 })
    t.match(await validate(['patients']), { code: 2, err: /missing required argument 'file'/ })
    t.match(await validate(['patients', join(folder, 'none.json')]), {
      code: 2,
      out: '',
      err: 'error: the file cannot be read: it does not exist\n'
    })
    t.match(await runValidateProcess(['patients', folder]), {
      code: 2,
      out: '',
      err: 'error: the file cannot be read: it is a directory\n'
    })
    t.match(await runValidateProcess(['patients', join(folder, 'patients.json')]), { code: 0 })
  }
)

const mebibyte = 1024 * 1024

t.test('a record of 1 MiB is read, a longer one is an error of its line', async t => {
  const buildLongRecord = (length: number) => JSON.stringify({ firstName: 'Ada', lastName: 'B'.repeat(length - 33) })
  t.equal(buildLongRecord(mebibyte).length, mebibyte)
  t.match((await validate(['patients', '-'], [buildLongRecord(mebibyte), '\r\n', ada])).out, '2 records checked')
  t.notMatch((await validate(['patients', '-'], [buildLongRecord(mebibyte), '\r\n', ada])).out, 'too large')
  const { out } = await validate(['patients', '-'], [`${ada}\n`, buildLongRecord(mebibyte + 1), '\n', faulty])
  t.match(out, /^line 2: Payload too large\. .*\nline 3: birthDate.*\n3 records checked, 2 invalid\.\n$/)
  t.match(await validate(['patients', '-'], ['{\n', ' '.repeat(mebibyte), '}']), {
    code: 1,
    out: /^line 1: Payload too large\..*\n1 record/
  })
})
