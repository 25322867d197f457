import type { FhirElement } from '../fhir.js'
import { isPlainObject, reportFault, type Walk } from './walk.js'

/**
 * Checks the parts of a record's own `meta` that a datastore stores apart from the record, each by its value alone:
 * their ids and extensions would be lost.
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
