import { code } from '../datatypes/code.js'
import { conceptOf } from '../datatypes/concept.js'
import { absoluteUriUpTo, boolean, dateTime, textUpTo, uriUpTo } from '../datatypes/primitives.js'
import { identifiers } from '../fields/identifiers.js'
import { mapping } from '../core/mapping.js'
import { backbone } from '../core/structure.js'
import { publicationStatus, requestPriority } from '../value-sets.js'

const kind = conceptOf({ max: 200 })

/** http://hl7.org/fhir/R4/plandefinition.html */
export const planDefinitions = mapping('PlanDefinition', {
  path: 'plan-definitions',
  operation: 'createPlanDefinition',
  about: 'A template of goals and actions, such as a protocol or an order set.',
  fields: {
    identifiers: identifiers(),
    status: code(publicationStatus)('status', { required: true, filter: 'status' }),
    name: textUpTo(500)('name', { filter: 'name', about: 'Computer-friendly name.' }),
    title: textUpTo(500)('title', { filter: 'title', about: 'Human-friendly name.' }),
    type: kind('type', { filter: 'type' }),
    description: textUpTo(5000)('description'),
    purpose: textUpTo(5000)('purpose'),
    usage: textUpTo(5000)('usage'),
    publisher: textUpTo(500)('publisher'),
    date: dateTime('date', { about: 'When it was last changed.' }),
    version: textUpTo(100)('version'),
    url: absoluteUriUpTo(2000)('url', { about: 'Its canonical identifier, the same wherever it is stored.' }),
    experimental: boolean('experimental'),
    topic: kind.list('topic', { maxItems: 10, about: 'What it is about, such as treatment or education.' }),
    goal: backbone({
      description: conceptOf({ max: 2000 })('description', { required: true }),
      priority: conceptOf({ max: 100 })('priority'),
      category: kind('category')
    }).list('goal', { maxItems: 20, about: 'What the plan is to reach.' }),
    action: backbone({
      title: textUpTo(500)('title'),
      description: textUpTo(2000)('description'),
      priority: code(requestPriority)('priority'),
      code: kind.first('code'),
      type: kind('type'),
      definitionUri: uriUpTo(2000)('definitionUri', { choice: 'definition' })
    }).list('action', { maxItems: 50, about: 'What is to be done.' })
  }
})
