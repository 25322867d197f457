/** Further datatypes of several parts: http://hl7.org/fhir/R4/datatypes.html */
import type { FhirElement } from '../fhir.js'
import { record } from '../core/structure.js'
import { code } from './code.js'
import { absoluteUri, base64, dateTime, openCode, text, uri } from './primitives.js'

export const period = record(
  { start: dateTime('start'), end: dateTime('end') },
  {
    kind: 'date',
    schema: { title: 'Period', 'x-ordered': true },
    expects: 'an object with start and end, start not after end'
  }
)

/** att-1: data needs its contentType. */
export const attachment = record(
  { contentType: openCode('contentType'), data: base64('data'), url: uri('url'), title: text('title') },
  {
    schema: { title: 'Attachment', dependentRequired: { data: ['contentType'] } },
    described: [{ of: ['data', 'url'], members: ['hash', 'size', 'creation'] }],
    expects: 'an object with contentType, data, url and title; data needs contentType'
  }
)

export const address = record(
  {
    line: text.list('line'),
    city: text('city'),
    state: text('state'),
    postalCode: text('postalCode'),
    country: text('country'),
    use: code(['home', 'work', 'temp', 'old', 'billing'])('use')
  },
  {
    kind: 'string',
    schema: { title: 'Address' },
    described: [
      {
        of: ['line', 'city', 'state', 'postalCode', 'country'],
        members: ['text'],
        extensions: ['http://hl7.org/fhir/StructureDefinition/geolocation']
      }
    ]
  }
)

const identifierParts = {
  system: absoluteUri('system'),
  value: text('value', { required: true }),
  use: code(['usual', 'official', 'temp', 'secondary', 'old'])('use')
}

/** A business identifier; those of `ownSystems` have a field of their own and are neither shown nor accepted here. */
export const identifierExcept = (...ownSystems: readonly string[]) =>
  record(
    { ...identifierParts, system: ownSystems.length === 0 ? identifierParts.system : excludeSystems(ownSystems) },
    {
      ...(ownSystems.length === 0
        ? { schema: { title: 'Identifier' } }
        : { where: (stored: FhirElement) => !isOwn(stored, ownSystems) }),
      expects: 'an object with system, value and use'
    }
  )

export const identifier = identifierExcept()

const isOwn = (stored: FhirElement, systems: readonly string[]): boolean =>
  typeof stored.system === 'string' && systems.includes(stored.system)

function excludeSystems (systems: readonly string[]) {
  const element = absoluteUri('system')
  const escaped = systems.map(system => system.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&'))
  return {
    ...element,
    schema: {
      ...element.schema,
      pattern: `^(?!(?:${escaped.join('|')})$)`,
      'x-expects': 'a system that does not have its own field'
    }
  }
}
