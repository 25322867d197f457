/** FHIR R4 as this gateway handles it: a tree that it knows only in part and keeps whole. */

/** Any JSON object of a resource; numbers may be `ExactNumber`s. */
export interface FhirElement { readonly [name: string]: unknown }

/** Resource.meta: http://hl7.org/fhir/R4/resource.html#Meta */
export interface Meta extends FhirElement {
  readonly versionId?: string
  readonly lastUpdated?: string
  readonly tag?: ReadonlyArray<{ readonly system?: string, readonly code?: string }>
}

export interface FhirResource extends FhirElement {
  readonly resourceType: string
  readonly id?: string
  readonly meta?: Meta
}

/** A resource as a datastore gave it: it has an identity and a version. */
export interface StoredResource extends FhirResource {
  readonly id: string
  readonly meta: Meta
}

/**
 * The URL of the extension of `meta` that holds, as an instant, when a changed record was created: a datastore reports
 * the time of the latest version alone.
 */
export const createdUrl = 'urn:clinigate:created'

/** When a record was created, by the time of its first version or its extension; undefined if it has neither. */
export function getCreationTime ({ meta }: Pick<FhirResource, 'meta'>): string | undefined {
  if (meta?.versionId === '1') return meta.lastUpdated
  const extensions: unknown = meta?.extension
  const time = Array.isArray(extensions) && extensions.find(extension => extension?.url === createdUrl)?.valueInstant
  return typeof time === 'string' ? time : undefined
}

/**
 * The tag of a record that is not shown completely, so that no client writes it back:
 * http://hl7.org/fhir/R4/search.html#elements
 */
export const subsetted = {
  system: 'http://terminology.hl7.org/CodeSystem/v3-ObservationValue',
  code: 'SUBSETTED'
} as const

/** Whether a record says that it is not whole. A client's may have anything for its meta. */
export function isSubsetted ({ meta }: Pick<FhirResource, 'meta'>): boolean {
  const tags: unknown = meta?.tag
  return Array.isArray(tags) && tags.some(tag => tag?.system === subsetted.system && tag.code === subsetted.code)
}
