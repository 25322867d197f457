import type { Elements } from './element.js'
import type { Rule } from './rule.js'

/** A rule for each field that is declared `notBefore` another. */
export function buildOrderRules (fields: Elements): readonly Rule[] {
  return Object.entries(fields).flatMap(([name, end]) => {
    const { notBefore } = end.options
    if (notBefore === undefined) return []
    const start = fields[notBefore]!
    return [{
      fields: [notBefore, name],
      message: `${name} must not be before ${notBefore}`,
      holds: resource => isOrdered(start.read(resource), end.read(resource))
    }]
  })
}

/** The widest offset of a zone from UTC: a day without zone may have begun or ended that much earlier or later. */
const maxOffsetMs = 14 * 3600_000

/**
 * R4 invariant per-1: start is not after end. What partial dates leave open is taken as in order.
 * http://hl7.org/fhir/R4/datatypes.html#Period
 */
export function isOrdered (start: unknown, end: unknown): boolean {
  if (typeof start !== 'string' || typeof end !== 'string') return true
  if (start.includes('T') && end.includes('T')) return !(Date.parse(start) > Date.parse(end))
  const shared = Math.min(start.split('T')[0]!.length, end.split('T')[0]!.length)
  if (!start.includes('T') && !end.includes('T')) return start.slice(0, shared) <= end.slice(0, shared)
  return !(Date.parse(start) > getEndOfDate(end) + maxOffsetMs)
}

/** The moment at which the day, month or year of a date is over, in UTC. */
function getEndOfDate (date: string): number {
  if (date.includes('T')) return Date.parse(date)
  const [year, month, day] = date.split('-').map(Number)
  if (day !== undefined) return Date.UTC(year!, month! - 1, day + 1)
  return month === undefined ? Date.UTC(year! + 1, 0, 1) : Date.UTC(year!, month, 1)
}

/** Whether one time is certainly not after another: 2026-03 may be after 2026-03-14, and not after 2026-04. */
export function isNotAfter (first: unknown, second: unknown): boolean {
  if (typeof first !== 'string' || typeof second !== 'string') return false
  if (first.includes('T') && second.includes('T')) return Date.parse(first) <= Date.parse(second)
  const shared = Math.min(...[first, second].map(time => time.split('T')[0]!.length))
  const [firstPart, secondPart] = [first.slice(0, shared), second.slice(0, shared)]
  return firstPart < secondPart || (firstPart === secondPart && first.length <= second.length)
}
