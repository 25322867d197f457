/** From the first to the last millisecond, both inclusive. */
export interface Range { readonly low: number, readonly high: number }

/** The ends of time, for a period that is open. */
const always: Range = { low: -8.64e15, high: 8.64e15 }

const form = /^(\d{4})(?:-(\d\d)(?:-(\d\d)(?:T(\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?(Z|[+-]\d\d:\d\d)?)?)?)?$/

/**
 * The range of time that a FHIR date, dateTime or instant covers, by its precision; without a zone it is UTC. Undefined
 * for invalid text.
 */
export function parseDateRange (text: string): Range | undefined {
  const match = form.exec(text)
  if (!match) return undefined
  const [, year, month, day, hour, minute, second, fraction, zone] = match
  const parts = [year, month ?? 1, day ?? 1, hour ?? 0, minute ?? 0, second ?? 0].map(Number) as [
    number,
    number,
    number,
    number,
    number,
    number
  ]
  const low = toUtcMs(parts, Number((fraction ?? '').padEnd(3, '0').slice(0, 3)))
  if (low === undefined) return undefined
  const precision = [year, month, day, minute, second, fraction].filter(part => part !== undefined).length
  return applyZone({ low, high: fraction === undefined ? getNextStart(parts, precision) - 1 : low }, zone)
}

type Parts = readonly [year: number, month: number, day: number, hour: number, minute: number, second: number]

function toUtcMs ([year, month, day, hour, minute, second]: Parts, millisecond: number): number | undefined {
  const date = new Date(0)
  date.setUTCFullYear(year, month - 1, day)
  date.setUTCHours(hour, minute, second, millisecond)
  const isReal =
    date.getUTCMonth() === month - 1 && date.getUTCDate() === day && date.getUTCMinutes() === minute && hour < 24
  return isReal && second < 60 ? date.getTime() : undefined
}

/** The start of the next year, month, day, minute or second, by the precision of the text. */
function getNextStart ([year, month, day, hour, minute, second]: Parts, precision: number): number {
  const date = new Date(0)
  date.setUTCFullYear(
    year + Number(precision === 1),
    month - 1 + Number(precision === 2),
    day + Number(precision === 3)
  )
  return date.setUTCHours(hour, minute + Number(precision === 4), second + Number(precision === 5), 0)
}

function applyZone (range: Range, zone: string | undefined): Range {
  if (zone === undefined || zone === 'Z') return range
  const [hours, minutes] = zone.slice(1).split(':').map(Number) as [number, number]
  const offsetMs = (hours * 60 + minutes) * 60_000 * (zone.startsWith('-') ? -1 : 1)
  return { low: range.low - offsetMs, high: range.high - offsetMs }
}

/** The same in local time: without its zone. A search for a day means that day in every zone. */
export function parseLocalRange (text: string): Range | undefined {
  return parseDateRange(text.replace(/(T.*)(?:Z|[+-]\d\d:\d\d)$/, '$1'))
}

/** The outer limits of a dateTime, a Period or a Timing. */
export function toTimeRange (value: unknown, read: (text: string) => Range | undefined): Range | undefined {
  if (typeof value === 'string') return read(value)
  const { start, end, event, repeat } = Object(value) as Record<string, unknown>
  if (start !== undefined || end !== undefined) {
    return { low: toTimeRange(start, read)?.low ?? always.low, high: toTimeRange(end, read)?.high ?? always.high }
  }
  const bounds = (Object(repeat) as Record<string, unknown>)['boundsPeriod']
  const ranges = [event, bounds]
    .flat()
    .map(item => (item === undefined ? undefined : toTimeRange(item, read)))
    .filter(range => range !== undefined)
  if (ranges.length === 0) return undefined
  return { low: Math.min(...ranges.map(({ low }) => low)), high: Math.max(...ranges.map(({ high }) => high)) }
}
