import type { FhirElement } from '../fhir.js'
import { isPlainObject, reportFault, type Walk } from './walk.js'

/**
 * What a datastore keeps of a record's own `meta` apart from the record, each part by its value alone, so that ids and
 * extensions of it are gone at the next read.
 */
export function checkOwnMeta ({ meta }: FhirElement, walk: Walk): void {
  if (!isPlainObject(meta)) return
  const report = (...below: ReadonlyArray<string | number>): void =>
    reportFault(walk, 'a datastore does not keep this here; leave it out', { code: 'not-supported', below: ['meta', ...below] })
  for (const name of ['id', '_profile', '_source']) if (name in meta) report(name)
  for (const name of ['security', 'tag']) {
    const labels = meta[name]
    if (!Array.isArray(labels)) continue
    for (const [at, label] of labels.entries()) {
      if (!isPlainObject(label)) continue
      for (const part in label) {
        if (part === 'id' || part === 'extension' || part.startsWith('_')) report(name, at, part)
      }
    }
  }
}
