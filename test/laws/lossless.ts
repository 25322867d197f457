/** The parts that a change of one part of a field removed from a record, and which of them were named. */
import { ExactNumber } from '../../src/json/json.js'
import { deepEqual } from '../../src/mappings/core/element.js'
import { isElement } from '../../src/mappings/core/path.js'

/**
 * A shown value with one of its parts taken from another value of the field; undefined where they have no part in
 * common.
 */
export function withPart (shown: unknown, other: unknown, position: number): unknown {
  if (Array.isArray(shown)) {
    const at = position % shown.length
    const item = withPart(shown[at], Array.isArray(other) ? other[0] : other, Math.floor(position / shown.length))
    return item === undefined ? undefined : shown.with(at, item)
  }
  if (!isElement(shown)) {
    return shown === undefined ||
      other === undefined ||
      isElement(other) ||
      Array.isArray(other) ||
      deepEqual(shown, other)
      ? undefined
      : other
  }
  if (!isElement(other)) return undefined
  const names = Object.keys(shown).filter(name => other[name] !== undefined && !deepEqual(shown[name], other[name]))
  if (names.length === 0) return undefined
  const name = names[position % names.length]!
  const part = withPart(shown[name], other[name], Math.floor(position / names.length)) ?? other[name]
  return { ...shown, [name]: part }
}

/** The paths, without list positions, at which two values differ. */
export function findDifferences (path: string, a: unknown, b: unknown): string[] {
  if (deepEqual(a, b)) return []
  if (a instanceof ExactNumber || b instanceof ExactNumber) return [path]
  if (Array.isArray(a) && Array.isArray(b)) return findListDifferences(path, a, b)
  if (!isElement(a) || !isElement(b)) return withoutVersion(a) === withoutVersion(b) ? [] : [path]
  return [...new Set([...Object.keys(a), ...Object.keys(b)])].flatMap(name =>
    findDifferences(`${path}.${name.replace(/^_/, '')}`, a[name], b[name])
  )
}

/** The paths, without list positions, at which a value has texts, numbers and booleans. */
export function listValuePaths (value: unknown): string[] {
  return [...new Set(listValues(value).map(([path]) => path))]
}

/** The paths, without list positions, at which one value has all that another has, and more. */
export function listAddedPaths (before: unknown, after: unknown): string[] {
  const [old, now] = [listValues(before), listValues(after)]
  return listValuePaths(after).filter(path => {
    const pickValues = (values: ReturnType<typeof listValues>): unknown[] =>
      values.flatMap(([other, value]) => (other === path ? [value] : []))
    return (
      pickValues(now).length > pickValues(old).length && findMissingItems(pickValues(now), pickValues(old)).length === 0
    )
  })
}

/** Each text, number and boolean of a value with its path. */
function listValues (value: unknown, path = ''): Array<readonly [string, unknown]> {
  if (Array.isArray(value)) return value.flatMap(item => listValues(item, path))
  if (!isElement(value)) return [[path.slice(1), value]]
  return Object.entries(value).flatMap(([name, member]) => listValues(member, `${path}.${name.replace(/^_/, '')}`))
}

/**
 * Items that only one of two lists has, compared one by one, or part by part with none where one list has more of them.
 * An item at another position was not lost.
 */
function findListDifferences (path: string, a: readonly unknown[], b: readonly unknown[]): string[] {
  const [removed, added] = [findMissingItems(b, a), findMissingItems(a, b)]
  const found = removed.length === added.length
    ? removed.flatMap((item, i) => findDifferences(path, item, added[i]))
    : [...removed, ...added].flatMap(item => (isElement(item) ? findDifferences(path, item, {}) : []))
  return [...new Set(found)]
}

/** The items of a list that another one does not have, or has less often. */
function findMissingItems (other: readonly unknown[], items: readonly unknown[]): unknown[] {
  const left = [...other]
  return items.filter(item => {
    const at = left.findIndex(candidate => deepEqual(candidate, item))
    if (at >= 0) left.splice(at, 1)
    return at < 0
  })
}

/** References are shown without the version of the record. */
const withoutVersion = (value: unknown): unknown =>
  typeof value === 'string' ? value.replace(/\/_history\/.*$/, '') : value

/** The findings that no warning explains: each begins with a path, perhaps with list positions. */
export function withoutNamed (findings: readonly string[], named: readonly string[]): string[] {
  return findings.filter(finding => {
    const path = finding.split(' ')[0]!.replace(/\[\d+\]/g, '').replace(/(^|\.)_/g, '$1').split('.').slice(1).join('.')
    return !named.some(name => name === path || name.startsWith(`${path}.`) || path.startsWith(`${name}.`))
  })
}
