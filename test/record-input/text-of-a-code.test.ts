import t from 'tap'
import { unlimitedPlans } from '../harness/client.js'
import { startGateway } from '../harness/gateway.js'

const system = 'http://snomed.info/sct'
const nuts = { system, code: '227493005', display: 'Cashew nuts' }
const peanut = { system, code: '256349002', display: 'Peanut' }
const simpleNuts = { ...nuts, text: 'Cashew nuts' }
const replaceAt = (path: string, value: unknown): object => ({ op: 'replace', path, value })

/** Codes as other systems store them: some repeat the display as text, some have none. */
const storedForms: readonly object[] = [{ coding: [nuts] }, { coding: [nuts], text: 'Cashew nuts' }]

/** Each way in which a client changes the code that it read, and does not change the text that was shown with it. */
const changes: ReadonlyArray<readonly [title: string, body: unknown]> = [
  ['a JSON Patch of code and display', [
    replaceAt('/code/code', peanut.code), replaceAt('/code/display', 'Peanut'),
    replaceAt('/bodySite/0/code', peanut.code), replaceAt('/bodySite/0/display', 'Peanut'),
    replaceAt('/evidence/0/code/0/code', peanut.code), replaceAt('/evidence/0/code/0/display', 'Peanut')
  ]],
  ['a code sent back as it was read, with another code and display', {
    code: { ...peanut, text: 'Cashew nuts' },
    bodySite: [{ ...peanut, text: 'Cashew nuts' }],
    evidence: [{ code: [{ ...peanut, text: 'Cashew nuts' }] }]
  }]
]

t.test('the text of a code', async t => {
  const gateway = await startGateway(t, { plans: unlimitedPlans })
  const { secret } = await gateway.createKey()
  const send = async (method: 'POST' | 'PATCH' | 'GET', url: string, payload?: any) =>
    (await gateway.inject({ method, url: `/v1${url}`, headers: { 'x-api-key': secret }, payload })).json()
  const { data: patient } = await send('POST', '/patients', { firstName: 'Ada', lastName: 'Byron' })
  const store = async (code: object): Promise<string> => {
    const subject = { reference: `Patient/${patient.id}` }
    const condition = { resourceType: 'Condition', subject, code, bodySite: [code], evidence: [{ code: [code] }] }
    const { id } = await send('POST', '/fhir/Condition', condition)
    return id
  }

  for (const code of storedForms) {
    const form = 'text' in code ? 'with the same text' : 'without text'
    for (const [title, body] of changes) {
      await t.test(`a display stored ${form} is no longer the text once it was changed, by ${title}`, async t => {
        const id = await store(code)
        const { data: before } = await send('GET', `/conditions/${id}`)
        t.strictSame(
          [before.code, before.bodySite, before.evidence],
          [simpleNuts, [simpleNuts], [{ code: [simpleNuts] }]]
        )
        const { data, meta } = await send('PATCH', `/conditions/${id}`, body)
        const simple = { ...peanut, text: 'Peanut' }
        t.strictSame([data.code, data.bodySite, data.evidence], [simple, [simple], [{ code: [simple] }]])
        t.strictSame(
          meta.warnings.flatMap(({ expression }: any) => expression),
          ['code.text', 'bodySite[0].text', 'evidence[0].code[0].text']
        )
        t.notMatch(JSON.stringify(await send('GET', `/fhir/Condition/${id}`)), /Cashew/)
      })
    }
  }

  await t.test('a code changed by a JSON Patch does not turn the display that stays into a text', async t => {
    const id = await store({ coding: [nuts] })
    await send('PATCH', `/conditions/${id}`, [replaceAt('/code/system', 'http://example.org')])
    const { code } = await send('GET', `/fhir/Condition/${id}`)
    t.strictSame(code, { coding: [{ ...nuts, system: 'http://example.org' }] })
  })

  await t.test('a text of its own stays, and a text that is sent is stored', async t => {
    const id = await store({ coding: [nuts], text: 'Nuts of cashew' })
    const own = await send('PATCH', `/conditions/${id}`, [replaceAt('/code/display', 'Peanut')])
    t.equal(own.data.code.text, 'Nuts of cashew')
    const sent = await send('PATCH', `/conditions/${id}`, { code: { ...peanut, text: 'Groundnut' } })
    t.strictSame([sent.data.code.text, sent.meta.warnings], ['Groundnut', undefined])
    const wordsAlone = await send('PATCH', `/conditions/${id}`, { code: { code: '1', text: 'Cashew nuts' } })
    t.strictSame(wordsAlone.data.code, { system, code: '1', text: 'Cashew nuts' })
  })
})
