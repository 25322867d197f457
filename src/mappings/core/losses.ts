/**
 * Content that a change removed and its client could not see: the client gets a warning, since nothing else shows that
 * it is gone.
 */
import { maxIssues, fieldIssue, type Issue } from '../../envelope/failures.js'
import type { FhirElement } from '../fhir.js'
import type { Mapping } from './mapping.js'
import { isElement } from './path.js'
import { canonicalJson } from './canonical-json.js'

/** The values at each path of single names; what stands next to a primitive (`_birthDate`) has the primitive's path. */
type Values = ReadonlyMap<string, readonly string[]>

/** A warning for each part of a record that a change removed and that no field showed. */
export function listLossWarnings (mapping: Mapping, before: FhirElement, after: FhirElement): Issue[] {
  return listLostPaths(mapping, before, after)
    .slice(0, maxIssues)
    .map(path => ({
      ...fieldIssue(
        `${mapping.type}.${path}`,
        'belonged to the value before and was removed with it; if it is still true, add it in raw FHIR',
        'informational'
      ),
      severity: 'warning'
    }))
}

/**
 * The paths of the parts that a change removed and that no field showed, each as near to the root as all of it is gone.
 */
export function listLostPaths (mapping: Mapping, before: FhirElement, after: FhirElement): readonly string[] {
  const [old, now] = [collectValues(before), collectValues(after)]
  const gone = [...old.keys()].filter(path => hasMore(old.get(path)!, now.get(path) ?? []))
  if (gone.length === 0) return []
  const shown = collectValues(mapping.toFhir(mapping.toSimple(before)))
  // A text that parts are rendered to goes with a change of them; one without parts is all that was stored.
  const hasParts = (path: string): boolean => [...shown.keys()].some(other => toParent(other) === toParent(path))
  const rendered = new Set(
    Object.values(mapping.fields)
      .filter(({ options, path }) => options.readOnly === true && hasParts(path))
      .map(({ path }) => path)
  )
  // A value that another one takes the place of was shown, even if in another form: 2 h as 120 min.
  const isReplaced = (path: string): boolean => shown.has(path) && (now.get(path)?.length ?? 0) >= old.get(path)!.length
  const lost = gone.filter(
    path =>
      !rendered.has(path) &&
      !isReplaced(path) &&
      hasMore(old.get(path)!, [...(now.get(path) ?? []), ...(shown.get(path) ?? [])])
  )
  const present = [...[...now.keys()].filter(path => !lost.includes(path)), ...shown.keys()]
  return [...new Set(lost.map(path => toTopmostLostPath(path, present)))]
}

const toParent = (path: string): string => path.split('.').slice(0, -1).join('.')

/** Whether some values hold one more often than others do. */
function hasMore (values: readonly string[], others: readonly string[]): boolean {
  const left = [...others]
  return values.some(value => {
    const found = left.indexOf(value)
    if (found >= 0) left.splice(found, 1)
    return found < 0
  })
}

function toTopmostLostPath (path: string, present: readonly string[]): string {
  const names = path.split('.')
  const depth = names.findIndex((_, i) => {
    const part = names.slice(0, i + 1).join('.')
    return !present.some(other => other === part || other.startsWith(`${part}.`))
  })
  return depth < 0 ? path : names.slice(0, depth + 1).join('.')
}

function collectValues (holder: FhirElement): Values {
  const values = new Map<string, string[]>()
  collect(holder, '', values)
  return values
}

function collect (value: unknown, path: string, values: Map<string, string[]>): void {
  if (Array.isArray(value)) {
    for (const item of value) collect(item, path, values)
  } else if (isElement(value)) {
    for (const [name, member] of Object.entries(value)) {
      const own = name.replace(/^_/, '')
      collect(member, path === '' ? own : `${path}.${own}`, values)
    }
  } else if (value !== null && value !== undefined) {
    const text = canonicalJson(value)
    values.get(path)?.push(text) ?? values.set(path, [text])
  }
}
