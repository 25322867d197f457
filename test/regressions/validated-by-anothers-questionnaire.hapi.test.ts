import { randomUUID } from 'node:crypto'
import t from 'tap'
import { realBackend } from '../harness/backend.js'
import { clientOf } from '../harness/client.js'
import { startGateway } from '../harness/gateway.js'

// HAPI looks up what a canonical names among the records of all organizations, and tells what it demands.
t.test('what another organization asks in a questionnaire or measures is not told by $validate', async t => {
  const gateway = await startGateway(t, { fhirUrl: realBackend().url })
  const [client, other] = [await clientOf(gateway), await clientOf(gateway)]
  const [theirs, nobodys] = [randomUUID(), randomUUID()]
  const url = (name: string) => `http://forms.example/${name}`
  const definitions = [
    {
      resourceType: 'Questionnaire',
      url: url(theirs),
      status: 'active',
      item: [{ linkId: 'their-question', text: 'their-question', type: 'string', required: true }]
    },
    {
      resourceType: 'Measure',
      url: url(theirs),
      status: 'active',
      scoring: { coding: [{ system: 'http://terminology.hl7.org/CodeSystem/measure-scoring', code: 'proportion' }] },
      group: [
        {
          code: { text: 'their-group' },
          population: [{ code: { text: 'their-population' }, criteria: { language: 'text/cql', expression: 'x' } }]
        }
      ]
    },
    { resourceType: 'Library', url: url(theirs), status: 'active', type: { text: 'x' } }
  ]
  for (const definition of definitions) {
    t.equal((await other.send('POST', `fhir/${definition.resourceType}`, definition)).status, 201)
  }
  const requested = (name: string) => [
    {
      resourceType: 'QuestionnaireResponse',
      status: 'completed',
      questionnaire: url(name),
      item: [{ linkId: 'mine' }]
    },
    {
      resourceType: 'QuestionnaireResponse',
      status: 'completed',
      questionnaire: `${url(name)}|1`,
      item: [{ linkId: 'mine' }]
    },
    {
      resourceType: 'List',
      status: 'current',
      mode: 'working',
      contained: [{ resourceType: 'QuestionnaireResponse', id: 'q', status: 'completed', questionnaire: url(name) }],
      entry: [{ item: { reference: '#q' } }]
    },
    {
      resourceType: 'MeasureReport',
      status: 'complete',
      type: 'summary',
      measure: url(name),
      period: { start: '2020', end: '2021' },
      group: [{ measureScore: { value: 1 } }]
    },
    { resourceType: 'Questionnaire', status: 'active', derivedFrom: [url(name)] },
    {
      resourceType: 'Measure',
      status: 'active',
      library: [url(name)],
      relatedArtifact: [{ type: 'depends-on', resource: url(name) }]
    }
  ]
  for (const [at, resource] of requested(theirs).entries()) {
    const [told, unknown] = await Promise.all(
      [resource, requested(nobodys)[at]!].map(body => client.send('POST', `fhir/${body.resourceType}/$validate`, body))
    )
    t.equal(told!.status, 200)
    t.notMatch(told!.text, /their-|urn:uuid/)
    t.equal(
      told!.text.replaceAll(theirs, ''),
      unknown!.text.replaceAll(nobodys, ''),
      `${resource.resourceType} as by one that nobody has`
    )
  }
})
