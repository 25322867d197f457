import type { FhirResource } from '../../src/mappings/fhir.js'
import { tenantSystem } from '../harness/fhir-server.js'

/** Whose a planted record is: the codes of its tenant tags, none or several included. */
export interface Planting {
  readonly id: string
  /** Stands in every text of the record, so that a leak is recognised wherever it shows. */
  readonly mark: string
  readonly tags: ReadonlyArray<{ readonly system: string, readonly code: string }>
  /** Occurs in the record and in no request, so that no other record can contain it. */
  readonly hidden?: string
}

export const tagOf = (code: string, system = tenantSystem): Planting['tags'][number] => ({ system, code })

/** The types of which there is one record under each id; they refer to each other. */
export const plantedTypes = [
  'Practitioner',
  'Organization',
  'Patient',
  'Encounter',
  'Observation',
  'Flag',
  'List',
  'Questionnaire',
  'Binary',
  'Bundle',
  'Basic'
] as const

export type PlantedType = typeof plantedTypes[number]

/** One record of each type, or of those that are named. */
export function buildPlantedRecords (planting: Planting, types: readonly PlantedType[] = plantedTypes): FhirResource[] {
  return types.map(type => {
    const { contained: _, ...content } = { contained: [], ...buildContents(planting)[type] }
    return {
      resourceType: type,
      id: planting.id,
      meta: { tag: [...planting.tags, { system: 'urn:ward', code: planting.mark }] },
      ...buildCommonElements(type, planting),
      ...content
    } as FhirResource
  })
}

export const toBinaryData = (mark: string): string => Buffer.from(`the content of ${mark}`).toString('base64')

function buildCommonElements (type: PlantedType, { mark, hidden = mark }: Planting): object {
  if (type === 'Binary' || type === 'Bundle') return {}
  const text = { status: 'generated', div: `<div xmlns="http://www.w3.org/1999/xhtml">${mark}</div>` }
  return { text, extension: [{ url: 'http://x.example/e', valueString: hidden }] }
}

function buildContents ({ id, mark }: Planting): Record<PlantedType, object> {
  const subject = { reference: `Patient/${id}`, display: mark }
  const name = [{ family: mark, given: [mark] }]
  return {
    Practitioner: { identifier: [{ system: 'urn:npi', value: mark }], active: true, name },
    Organization: { identifier: [{ system: 'urn:org', value: mark }], name: mark },
    Patient: {
      identifier: [{ system: 'urn:mrn', value: mark }],
      active: true,
      name,
      birthDate: '1990-03-14',
      generalPractitioner: [{ reference: `Practitioner/${id}` }]
    },
    Encounter: { status: 'finished', class: { code: 'AMB' }, subject },
    Observation: {
      status: 'final',
      code: {
        coding: [
          { system: 'urn:codes', code: 'lab' },
          { system: 'urn:marks', code: mark }
        ],
        text: mark
      },
      subject,
      encounter: { reference: `Encounter/${id}` },
      performer: [{ reference: `Practitioner/${id}` }],
      valueString: mark
    },
    Flag: { status: 'active', code: { text: mark } },
    List: {
      status: 'current',
      mode: 'working',
      title: mark,
      subject,
      entry: [{ item: { reference: `Observation/${id}` } }]
    },
    Questionnaire: {
      url: `http://q.example/${mark}`,
      status: 'active',
      title: mark,
      item: [{ linkId: mark, text: mark, type: 'string', required: true }]
    },
    Binary: { contentType: 'text/plain', data: toBinaryData(mark) },
    Bundle: {
      type: 'collection',
      identifier: { system: 'urn:bundle', value: mark },
      entry: [{ resource: { resourceType: 'Basic', code: { text: mark } } }]
    },
    Basic: { code: { text: mark } }
  }
}

/** An Observation about one patient by another one's practitioner: what no gateway would have stored. */
export function buildCrossedObservation (
  { id, mark, tags }: Planting, subject: string, performer: string
): FhirResource {
  return {
    resourceType: 'Observation',
    id,
    meta: { tag: [...tags] },
    status: 'final',
    code: { coding: [{ system: 'urn:codes', code: mark }] },
    subject: { reference: `Patient/${subject}` },
    performer: [{ reference: `Practitioner/${performer}` }]
  } as unknown as FhirResource
}
