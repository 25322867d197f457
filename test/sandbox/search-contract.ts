import type { Test } from 'tap'
import { waitUntil } from '../harness/until.js'
import { Server } from './server.js'

/** The results and errors of searches. A real HAPI behaves like the sandbox. */
export async function searchContract (t: Test, url: string): Promise<void> {
  const server = new Server(url)
  const { run, tag } = server
  const id = (name: string) => server.id(name)

  const to = (type: string, name: string) => ({ reference: `${type}/${id(name)}` })
  /** Stores in a later millisecond than the records before, so that the time of the last change gives the order. */
  const storeLater: Server['store'] = async resource => {
    const before = Date.now()
    await waitUntil(() => Date.now() > before)
    await server.store(resource)
  }

  await server.store({ resourceType: 'Organization', id: id('org'), name: 'Good Health Clinic', active: true })
  await server.store({
    resourceType: 'Patient',
    id: id('a'),
    active: true,
    name: [{ family: 'Müller-Lüdenscheidt', given: ['Anna Maria', 'Eva'], text: 'Frau Anna' }],
    birthDate: '1980-02-03',
    gender: 'female',
    telecom: [{ system: 'email', value: 'Anna@x.org' }, { system: 'phone', value: '+49 1' }],
    identifier: [{ system: 'http://mrn', value: 'A,1' }, { value: 'nosys' }],
    address: [{ line: ['Main Street 5'], city: 'New York', postalCode: '10001' }],
    managingOrganization: to('Organization', 'org')
  })
  await storeLater({
    resourceType: 'Patient',
    id: id('b'),
    name: [{ family: 'Zeta' }],
    birthDate: '1981',
    gender: 'male',
    deceasedDateTime: '2020-01-01',
    identifier: [{ system: 'http://mrn', value: 'B1' }]
  })
  await storeLater({ resourceType: 'Patient', id: id('c'), birthDate: '1980-02' })
  await server.store({
    resourceType: 'Observation',
    id: id('o1'),
    status: 'final',
    code: { coding: [{ system: 'http://loinc.org', code: '1-8', display: 'Body Weight' }], text: 'Weight of body' },
    subject: to('Patient', 'a'),
    effectiveDateTime: '2020-06-15T10:30:00Z',
    valueQuantity: { value: 5.4, unit: 'kilo', system: 'http://unitsofmeasure.org', code: 'kg' }
  })
  await server.store({
    resourceType: 'Observation',
    id: id('o2'),
    status: 'preliminary',
    code: { text: 'only text' },
    subject: to('Patient', 'b'),
    effectivePeriod: { start: '2020-06-01', end: '2020-06-30' },
    valueQuantity: { value: 5.44, unit: 'kg' }
  })
  await server.store({
    resourceType: 'Observation',
    id: id('o3'),
    status: 'final',
    code: { coding: [{ code: 'nosys' }] },
    subject: to('Patient', 'a'),
    effectivePeriod: { start: '2020-06-10' },
    valueQuantity: { value: 100, system: 'http://unitsofmeasure.org', code: 'kg' }
  })
  await server.store({
    resourceType: 'Observation',
    id: id('o4'),
    status: 'final',
    code: { coding: [{ system: 'http://loinc.org', code: 'x|y' }] },
    effectiveDateTime: '2020',
    valueString: 'Hello big World'
  })
  await server.store({
    resourceType: 'Condition',
    id: id('old'),
    subject: to('Patient', 'a'),
    onsetAge: { value: 30, system: 'http://unitsofmeasure.org', code: 'a' }
  })
  await server.store({
    resourceType: 'Condition',
    id: id('dated'),
    subject: to('Patient', 'a'),
    onsetDateTime: '2019-05',
    abatementString: 'soon after'
  })
  await server.store({
    resourceType: 'MedicationRequest',
    id: id('coded'),
    status: 'active',
    intent: 'order',
    subject: to('Patient', 'a'),
    medicationCodeableConcept: { coding: [{ system: 'http://rx', code: '1' }] }
  })
  await server.store({
    resourceType: 'Condition',
    id: id('evening'),
    subject: to('Patient', 'a'),
    recordedDate: '2020-02-03T23:30:00-05:00'
  })
  await server.store({
    resourceType: 'Appointment',
    id: id('visit'),
    status: 'booked',
    start: '2020-02-03T10:00:00.123Z',
    participant: [{ actor: to('Patient', 'a'), status: 'accepted' }]
  })
  await server.store({
    resourceType: 'RiskAssessment',
    id: id('risk'),
    status: 'final',
    subject: to('Patient', 'a'),
    prediction: [{ probabilityDecimal: 0.8 }]
  })
  await server.store({
    resourceType: 'ServiceRequest',
    id: id('order'),
    status: 'active',
    intent: 'order',
    subject: to('Patient', 'a'),
    instantiatesCanonical: ['http://x/PlanDefinition/1|2.0'],
    instantiatesUri: ['http://uri/a'],
    occurrenceTiming: { event: ['2020-03-01', '2020-04-01'] }
  })

  /** Each line: a search, then the resources that it finds. */
  function testSearches (title: string, table: string): void {
    t.test(title, async t => {
      for (const line of table.trim().split('\n')) {
        const [query = '', expected = ''] = line.trim().split(/ => ?/)
        const response = await server.search(query)
        t.equal(response.status, 200, query)
        t.same(server.listNames(response).sort(), expected === '' ? [] : expected.split(' ').sort(), query)
        t.equal(response.resource.total, server.listNames(response).length, `total of ${query}`)
      }
    })
  }

  testSearches('a string is found by its beginning, whatever case and accents', `
  Patient?name=mul => a
  Patient?name=MÜLLER-L => a
  Patient?name=anna => a
  Patient?name=frau anna => a
  Patient?given=eva => a
  Patient?given=maria =>
  Patient?family=lud =>
  Patient?family=mueller =>
  Patient?address=main => a
  Patient?address=100 => a
  Patient?address-city=new y => a
  Organization?name=good health => org
  Organization?name=health =>
  Observation?value-string=hello => o4
  Patient?name:exact=Zeta => b
  Patient?name:exact=zeta =>
  Patient?name=zeta,frau => a b
`)

  testSearches('a token is found by system and code', `
  Observation?code=http://loinc.org|1-8 => o1
  Observation?code=1-8 => o1
  Observation?code=|nosys => o3
  Observation?code=|1-8 =>
  Observation?code=http://loinc.org| => o1 o4
  Observation?code=http://loinc.org|1-8,nosys => o1 o3
  Observation?code=only =>
  Observation?code:not=1-8,nosys => o2 o4
  Observation?code:text=weight => o1
  Observation?code:text=body => o1
  Observation?code:text=only => o2
  Patient?identifier=http://mrn|B1 => b
  Patient?identifier=|nosys => a
  Patient?identifier=http://mrn|B1&gender=female =>
  Patient?gender=male,female => a b
  Patient?gender:not=male => a c
  Patient?gender=MALE =>
  Patient?active=true => a
  Patient?active:not=true => b c
  Patient?deceased=true => b
  Patient?deceased=false => a c
  Patient?email=Anna@x.org => a
  Patient?email=anna@x.org =>
  Patient?phone=+49 1 => a
  Patient?telecom=email|Anna@x.org => a
  Patient?_tag=urn:nowhere|x =>
`)

  testSearches('a backslash takes the meaning from comma and bar', `
  Patient?identifier=http://mrn|A\\,1 => a
  Patient?identifier=A\\,1 => a
  Patient?identifier=A,1 =>
  Patient?identifier=http://mrn|A\\,1,http://mrn|B1 => a b
  Observation?code=x\\|y => o4
  Observation?code=http://loinc.org|x\\|y => o4
`)

  testSearches('a reference is found by id, by type and id, and by the type that the parameter allows', `
  Observation?subject=Patient/~a => o1 o3
  Observation?subject=~a => o1 o3
  Observation?patient=~a,Patient/~b => o1 o2 o3
  Observation?subject:Patient=~a => o1 o3
  Observation?subject=Group/~a =>
  Observation?subject=http://elsewhere/Patient/~a =>
  Observation?subject=Patient/none =>
  Patient?organization=Organization/~org => a
  Appointment?patient=~a => visit
  ServiceRequest?instantiates-canonical=http://x/PlanDefinition/1 => order
  ServiceRequest?instantiates-canonical=http://x/PlanDefinition/1|2.0 => order
  ServiceRequest?instantiates-uri=http://uri/a => order
  ServiceRequest?instantiates-uri=http://uri =>
`)

  testSearches('a time is compared as wide as it is vague', `
  Patient?birthdate=1980 => a c
  Patient?birthdate=1980-02 => a c
  Patient?birthdate=1980-02-03 => a
  Patient?birthdate=ne1980-02-03 => b c
  Patient?birthdate=ge1980-02-03 => a b c
  Patient?birthdate=gt1980-02-03 => b c
  Patient?birthdate=lt1981 => a c
  Patient?birthdate=le1980-02-03 => a c
  Patient?birthdate=ge1981-06 => b
  Patient?birthdate=sa1980-02-03 => b
  Patient?birthdate=eb1981 => a c
  Observation?date=2020-06 => o1 o2
  Observation?date=ge2020-07 => o3 o4
  Observation?date=lt2020-06-10 => o2 o4
  Observation?date=gt2020-06-15T10:30:00Z => o2 o3 o4
  Observation?date=2020-06-15T12:30:00+02:00 => o1
  Observation?date=2020-06-15T10:30Z => o1
  Observation?date=ge2020-06-01&date=le2020-06-30 => o1 o2 o3 o4
  Appointment?date=2020-02-03T10:00:00Z => visit
  ServiceRequest?occurrence=2020 => order
  ServiceRequest?occurrence=2020-03 =>
  ServiceRequest?occurrence=ge2020-04-01 => order
  Patient?_lastUpdated=ge2020 => a b c
  Patient?_lastUpdated=lt2020 =>
`)

  testSearches('a day is the day that was written, whatever its zone', `
  Condition?recorded-date=2020-02-03 => evening
  Condition?recorded-date=2020-02-04 =>
  Condition?recorded-date=2020-02-04T04:30:00Z => evening
`)

  testSearches('a number and a quantity are compared by amount and unit', `
  Observation?value-quantity=5.4 => o1
  Observation?value-quantity=5.40 => o1
  Observation?value-quantity=1e2 => o3
  Observation?value-quantity=gt5.4 => o2 o3
  Observation?value-quantity=le5.44 => o1 o2
  Observation?value-quantity=ne5.4 => o2 o3
  Observation?value-quantity=gt5|http://unitsofmeasure.org|kg => o1 o3
  Observation?value-quantity=5.4||kg => o1
  RiskAssessment?probability=0.80 => risk
  RiskAssessment?probability=gt0.7 => risk
`)

  testSearches('of an element with a choice of types, each parameter sees its own', `
  Condition?onset-age=30 => old
  Condition?onset-age=gt29|http://unitsofmeasure.org|a => old
  Condition?onset-date=2019 => dated
  Condition?abatement-string=soon => dated
  MedicationRequest?code=http://rx|1 => coded
  MedicationRequest?medication:missing=true => coded
  Observation?value-concept:missing=false =>
`)

  testSearches('missing tells whether there is a value', `
  Patient?gender:missing=true => c
  Patient?gender:missing=false => a b
  Observation?subject:missing=true => o4
  Observation?code:missing=true => o2
`)

  testSearches('ids, tags and several parameters narrow the result', `
  Patient?_id=~a => a
  Patient?_id=~a,~b,none => a b
  Patient?_id=~a&_id=~b =>
  Patient?birthdate=1980&gender=female => a
`)

  t.test('an include returns records one reference away, once, and does not count them', async t => {
    for (const [query, total, expected] of [
      ['Observation?_include=Observation:subject', 4, 'a (included),b (included),o1,o2,o3,o4'],
      ['Observation?_id=~o1&_include=Observation:subject:Group', 1, 'o1'],
      [
        'Patient?_id=~a&_revinclude=Observation:patient&_include=Patient:organization',
        1,
        'a,o1 (included),o3 (included),org (included)'
      ],
      ['Observation?_id=~o1&_include=Observation:subject&_include=Observation:patient', 1, 'a (included),o1']
    ] as const) {
      const response = await server.search(query)
      t.equal(response.resource.total, total, query)
      t.equal(server.listNames(response).sort().join(), expected, query)
    }
  })

  t.test('results come in the requested order, those without a value last', async t => {
    for (const [query, expected] of [
      ['Patient?_sort=birthdate', 'c,a,b'],
      ['Patient?_sort=-birthdate', 'b,a,c'],
      ['Patient?_sort=family', 'a,b,c'],
      ['Patient?_sort=-family', 'b,a,c'],
      ['Patient?_sort=gender,-birthdate', 'a,b,c'],
      ['Observation?_sort=-date', 'o1,o3,o2,o4'],
      ['Observation?_sort=value-quantity', 'o1,o2,o3,o4'],
      ['Patient?_sort=-_id', 'c,b,a'],
      ['Patient?_sort=-_lastUpdated', 'c,b,a']
    ] as const) t.equal(server.listNames(await server.search(query)).join(), expected, query)
  })

  t.test('following the next links shows every match once', async t => {
    const seen: string[] = []
    let next: string | undefined =
      '/Observation' + `?_tag=${tag.system}%7C${tag.code}&_sort=_id&_count=3&_offset=0&_total=accurate`
    while (next !== undefined) {
      const page = await server.send('GET', next)
      t.equal(page.resource.total, 4)
      t.equal(page.resource.type, 'searchset')
      seen.push(...server.listNames(page))
      const url = page.resource.link.find((link: any) => link.relation === 'next')?.url as string | undefined
      if (url !== undefined) t.ok(url.startsWith(`${server.url}/Observation?`), 'a link begins with the base URL')
      next = url?.slice(server.url.length)
    }
    t.same(seen, ['o1', 'o2', 'o3', 'o4'])
  })

  t.test('an entry has its fullUrl and search mode', async t => {
    const { resource } = await server.search('Patient?_id=~a')
    t.match(resource.entry[0], { fullUrl: `${server.url}/Patient/${id('a')}`, search: { mode: 'match' } })
    t.ok(resource.link.some((link: any) => link.relation === 'self'))
  })

  t.test('a count is returned without entries', async t => {
    for (const page of ['_summary=count', '_count=0&_offset=0&_total=accurate']) {
      const { resource } = await server.search('Patient?birthdate=1980', page)
      t.equal(resource.total, 2, page)
      t.equal(resource.entry, undefined, page)
    }
  })

  t.test('_elements returns type, id and all of meta with the elements', async t => {
    const { resource: { entry: [{ resource }] } } = await server.search('Patient?_id=~a&_elements=birthDate')
    t.same(Object.keys(resource).sort(), ['birthDate', 'id', 'meta', 'resourceType'])
    t.match(resource.meta.tag.map((tag: any) => tag.code), [run, 'SUBSETTED'])
  })

  t.test('a search may be sent as a form, and the URL counts as well', async t => {
    const form = { 'content-type': 'application/x-www-form-urlencoded' }
    const found = await server.send('POST', `/Patient/_search?_tag=${tag.system}%7C${tag.code}`, 'name=m%C3%BCl', form)
    t.same(server.listNames(found), ['a'])
    const none = await server.send('POST', `/Patient/_search?_tag=${tag.system}%7Cother`, 'name=m%C3%BCl', form)
    t.same(server.listNames(none), [])
  })

  t.test('an unknown part of a search is rejected', async t => {
    for (const query of [
      'Patient?foo=1',
      'Patient?birthdate=foo',
      'Patient?birthdate=ge',
      'Patient?birthdate=1980-13',
      'Patient?birthdate=ap1980',
      'Observation?value-quantity=foo',
      'Patient?_include=foo',
      'Patient?_include=Patient:foo',
      'Patient?_sort=foo'
    ]) {
      const { status, resource } = await server.search(query)
      t.equal(status, 400, query)
      t.equal(resource.resourceType, 'OperationOutcome', query)
    }
    t.equal((await server.send('GET', '/Patient?_count=abc')).status, 400)
    t.equal((await server.send('GET', '/Patient?_offset=abc')).status, 400)
    t.equal((await server.send('GET', '/Nope?_id=1')).status, 404)
  })
}
