import { code } from '../datatypes/code.js'
import { period } from '../datatypes/complex.js'
import { conceptOf } from '../datatypes/concept.js'
import { absoluteUriUpTo, boolean, dateTime, textUpTo } from '../datatypes/primitives.js'
import { reference } from '../datatypes/reference.js'
import { amount } from '../datatypes/quantities.js'
import { identifiers } from '../fields/identifiers.js'
import { noParameter } from '../core/filter.js'
import { mapping } from '../core/mapping.js'
import { backbone } from '../core/structure.js'
import { publicationStatus, requestIntent, requestPriority, requestTypes } from '../value-sets.js'

const kind = conceptOf({ max: 200 })

/** http://hl7.org/fhir/R4/activitydefinition.html */
export const activityDefinitions = mapping('ActivityDefinition', {
  path: 'activity-definitions',
  operation: 'createActivityDefinition',
  about: 'A template for requests for one activity.',
  fields: {
    identifiers: identifiers(),
    status: code(publicationStatus)('status', { required: true, filter: 'status' }),
    name: textUpTo(500)('name', { filter: 'name', about: 'Computer-friendly name.' }),
    title: textUpTo(500)('title', { filter: 'title', about: 'Human-friendly name.' }),
    description: textUpTo(5000)('description'),
    purpose: textUpTo(5000)('purpose'),
    usage: textUpTo(5000)('usage'),
    kind: code(requestTypes)('kind', { filter: noParameter, about: 'The type of the requests.' }),
    code: kind('code', { filter: noParameter, about: 'What is to be done.' }),
    intent: code(requestIntent)('intent'),
    priority: code(requestPriority)('priority'),
    doNotPerform: boolean('doNotPerform', { about: 'True when it must not be done.' }),
    timingDateTime: dateTime('timingDateTime', { choice: 'timing' }),
    timingPeriod: period('timingPeriod', { choice: 'timing' }),
    locationId: reference('Location')('location'),
    participant: backbone({
      type: code(['patient', 'practitioner', 'related-person', 'device'])('type', { required: true }),
      role: kind('role')
    }).list('participant', { maxItems: 20, about: 'Who is to take part.' }),
    quantity: amount('quantity', { about: 'How much is to be given or used.' }),
    bodySite: kind.list('bodySite', { maxItems: 10, about: 'Where in or on the body.' }),
    publisher: textUpTo(500)('publisher'),
    date: dateTime('date', { about: 'When it was last changed.' }),
    version: textUpTo(100)('version'),
    url: absoluteUriUpTo(2000)('url', { about: 'Its canonical identifier, the same wherever it is stored.' }),
    experimental: boolean('experimental'),
    topic: kind.list('topic', { maxItems: 10, about: 'What it is about, such as treatment or education.' })
  }
})
