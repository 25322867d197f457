import type { Test } from 'tap'
import { assertRejected, type World } from './fixture.js'

const gender = 'http://hl7.org/fhir/administrative-gender'
const genders = 'http://hl7.org/fhir/ValueSet/administrative-gender'
const buildParameters = (...parameter: object[]) => ({ resourceType: 'Parameters', parameter })
const findParameter = ({ resource }: { readonly resource: any }, name: string): unknown =>
  Object.entries(resource.parameter.find((part: any) => part.name === name) ?? {}).find(([member]) =>
    member.startsWith('value')
  )?.[1]

/** The terminology operations with a server that supports them: http://hl7.org/fhir/R4/terminology-service.html */
export async function testTerminology (t: Test, { fhir: join, gateway }: World): Promise<void> {
  const { send } = await join({ scopes: ['read'] })

  await t.test('codes are looked up, validated, expanded and translated, by URL', async t => {
    t.equal(findParameter(await send('GET', `/CodeSystem/$lookup?system=${gender}&code=male`), 'display'), 'Male')
    t.equal(findParameter(await send('GET', `/CodeSystem/$validate-code?url=${gender}&code=male`), 'result'), true)
    t.equal(
      findParameter(await send('GET', `/ValueSet/$validate-code?url=${genders}&system=${gender}&code=nope`), 'result'),
      false
    )
    t.equal(
      findParameter(await send('GET', `/ConceptMap/$translate?url=http://nowhere&system=${gender}&code=male`), 'result'),
      false
    )
    const expanded = await send('GET', `/ValueSet/$expand?url=${genders}`)
    t.match(expanded, {
      status: 200,
      headers: { 'content-type': 'application/fhir+json; charset=utf-8', 'cache-control': 'no-store' },
      resource: { resourceType: 'ValueSet' }
    })
    t.strictSame(expanded.resource.expansion.contains.map(({ code }: any) => code).sort(), [
      'female',
      'male',
      'other',
      'unknown'
    ])
    t.equal(
      (await send('GET', `/ValueSet/$expand?url=${genders}&count=4&_format=json`)).resource.expansion.contains.length,
      4
    )
  })
  await t.test('and by Parameters, with codings and concepts', async t => {
    const coding = { system: gender, code: 'male' }
    t.equal(
      findParameter(
        await send('POST', '/CodeSystem/$lookup', buildParameters({ name: 'coding', valueCoding: coding })),
        'display'
      ),
      'Male'
    )
    t.equal(
      findParameter(
        await send(
          'POST',
          '/CodeSystem/$lookup',
          buildParameters({ name: 'system', valueUri: gender }, { name: 'code', valueCode: 'male' })
        ),
        'display'
      ),
      'Male'
    )
    t.equal(
      findParameter(
        await send(
          'POST',
          '/ValueSet/$validate-code',
          buildParameters(
            { name: 'url', valueUri: genders },
            { name: 'codeableConcept', valueCodeableConcept: { coding: [coding] } }
          )
        ),
        'result'
      ),
      true
    )
    t.equal(
      (
        await send(
          'POST',
          '/ValueSet/$expand',
          buildParameters({ name: 'url', valueUri: genders }, { name: 'count', valueInteger: 4 })
        )
      ).resource.expansion.contains.length,
      4
    )
  })
  await t.test('HEAD responds as GET without the body', async t => {
    const path = `/ValueSet/$expand?url=${genders}`
    const [got, head] = [await send('GET', path), await send('HEAD', path)]
    t.strictSame(
      [head.status, head.text, head.headers['content-type'], head.headers['content-length']],
      [200, '', got.headers['content-type'], got.headers['content-length']]
    )
  })
  await t.test('what the datastore does not know is not found, and nothing of its response is disclosed', async t => {
    for (const path of [
      `/CodeSystem/$lookup?system=${gender}&code=s3cret`,
      '/CodeSystem/$lookup?system=http://s3cret&code=x',
      '/ValueSet/$expand?url=http://s3cret'
    ]) {
      const response = await send('GET', path)
      assertRejected(t, response, { status: 404, code: 'not-found' }, path)
      t.notMatch(response.text, 's3cret')
    }
    const refused = await send('GET', `/CodeSystem/$subsumes?system=${gender}&codeA=s3cret&codeB=female`)
    assertRejected(t, refused, { status: 400 }, 'subsumes')
    t.notMatch(refused.text, 's3cret')
    t.notMatch(JSON.stringify(gateway.logged()), 's3cret')
  })
}

/** Requests that are refused before the datastore gets any. */
export async function testTerminologyRejections (t: Test, { fhir: join }: World): Promise<void> {
  const { send } = await join()
  const queries = [
    'ValueSet/$expand',
    'ValueSet/$expand?url=ValueSet/1',
    'ValueSet/$expand?url=',
    `ValueSet/$expand?url=${genders}&context=Patient.gender`,
    `ValueSet/$expand?url=${genders}&valueSet=x`,
    `ValueSet/$expand?url=${genders}&tx-resource=x`,
    `ValueSet/$expand?url=${genders}&profile=http://x`,
    `ValueSet/$expand?url=${genders}&count=-1`,
    `ValueSet/$expand?url=${genders}&activeOnly=maybe`,
    `ValueSet/$expand?url=${genders}&filter=%01`,
    `ValueSet/$expand?url=${genders}&_tag=x`,
    'CodeSystem/$lookup?coding=x',
    'CodeSystem/$lookup?system=CodeSystem/1&code=x',
    'CodeSystem/$validate-code?code=x',
    `CodeSystem/$lookup?system=${gender}&code=x&toString=x`,
    'CodeSystem/$lookup?date=yesterday'
  ]
  for (const query of queries) assertRejected(t, await send('GET', `/${query}`), 400, query)
  const url = { name: 'url', valueUri: genders }
  const bodies: unknown[] = [
    buildParameters(),
    [],
    { resourceType: 'ValueSet' },
    buildParameters(url, { name: 'valueSet', resource: { resourceType: 'ValueSet' } }),
    buildParameters(url, { name: 'filter' }),
    buildParameters(url, { name: 'filter', valueString: 'a', valueCode: 'b' }),
    buildParameters(url, { name: 'filter', part: [] }),
    buildParameters(url, { name: 'filter', valueString: ['a'] }),
    buildParameters(url, { name: 'filter', valueString: null }),
    buildParameters(url, { name: 'count', valueDecimal: 1.5 }),
    buildParameters(url, { name: 'filter', valueReference: { reference: 'Patient/1' } }),
    buildParameters(url, { name: 'filter', valueString: 'a', extension: [] }),
    buildParameters({ name: 'constructor', valueString: 'x' })
  ]
  for (const body of bodies) assertRejected(t, await send('POST', '/ValueSet/$expand', body), 400, JSON.stringify(body))
  for (const coding of [
    { system: 'CodeSystem/1', code: 'x' },
    { system: gender, code: { a: 1 } },
    { system: gender, extension: [] },
    'x'
  ]) {
    assertRejected(
      t,
      await send('POST', '/CodeSystem/$lookup', buildParameters({ name: 'coding', valueCoding: coding })),
      400,
      JSON.stringify(coding)
    )
  }
  assertRejected(t, await send('POST', `/ValueSet/$expand?url=${genders}`, buildParameters(url)), 400, 'both')
  for (const path of [
    '/ValueSet/1/$expand',
    '/CodeSystem/1/$lookup',
    '/ValueSet/$expand-all',
    '/Patient/$expand',
    '/CodeSystem/$find-matches',
    '/ConceptMap/$closure',
    '/$closure'
  ]) { assertRejected(t, await send('GET', path), { status: 405, code: 'not-supported' }, path) }
  const deleted = await send('DELETE', '/ValueSet/$expand')
  assertRejected(t, deleted, 405, 'DELETE')
  t.equal(deleted.headers.allow, 'GET, HEAD, POST')
  assertRejected(
    t,
    await send('GET', `/ValueSet/$expand?url=${genders}`, undefined, { accept: 'application/fhir+xml' }),
    406,
    'XML'
  )
  assertRejected(
    t,
    await send('POST', '/ValueSet/$expand', '<Parameters/>', { 'content-type': 'application/fhir+xml' }),
    415,
    'XML'
  )
  assertRejected(
    t,
    await (await join({ scopes: ['write'] })).send('POST', '/ValueSet/$expand', buildParameters(url)),
    403,
    'a key that may not read'
  )
}
