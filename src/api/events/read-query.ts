import type { Issue } from '../../envelope/failures.js'
import { invalidParameter, parseCount, parseQuery, getRawQuery, toSafeName } from '../../envelope/query.js'
import { findUnknownType } from '../../events/to-events.js'
import { isDateTime } from '../../time/iso-time.js'

/** A request for the events of an organization. */
export interface EventRequest {
  readonly count: number
  readonly warnings?: readonly Issue[]
  readonly cursor?: string
  readonly types?: readonly string[]
  /** ISO 8601 in UTC with milliseconds. */
  readonly since?: string
  /** How long to wait for an event if there is none, in seconds. */
  readonly wait: number
}

const names = ['count', 'cursor', 'types', 'since', 'wait'] as const
type Name = typeof names[number]

const defaultCount = '20'
const maxWaitSeconds = 30
const maxTypes = 100

/** Reads the query of a request. @throws {Failure} BAD_REQUEST for an unknown parameter or a malformed value */
export function readEventQuery (url: string | undefined): EventRequest {
  const query = new Map<Name, string>()
  for (const [name, value] of parseQuery(getRawQuery(url))) {
    if (!isName(name)) {
      throw invalidParameter(toSafeName(name), `no such parameter; the list of events takes ${names.join(', ')}`)
    }
    if (query.has(name)) throw invalidParameter(name, 'is given twice')
    query.set(name, value)
  }
  const [cursor, types, since, wait] = [query.get('cursor'), query.get('types'), query.get('since'), query.get('wait')]
  return {
    ...parseCount(query.get('count') ?? defaultCount),
    ...cursor !== undefined && { cursor },
    ...types !== undefined && { types: parseTypes(types) },
    ...since !== undefined && { since: parseSince(since) },
    wait: wait === undefined ? 0 : parseWait(wait)
  }
}

const isName = (name: string): name is Name => names.some(each => each === name)

function parseTypes (text: string): readonly string[] {
  const types = text.split(',')
  if (types.length > maxTypes) throw invalidParameter('types', `takes at most ${maxTypes} types`)
  const unknown = findUnknownType(types)
  if (unknown === undefined) return types
  throw invalidParameter(`types[${unknown.at}]`, unknown.message)
}

function parseSince (text: string): string {
  if (!isDateTime(text)) throw invalidParameter('since', 'takes a time such as 2030-01-31T10:20:30Z')
  return new Date(text).toISOString()
}

function parseWait (text: string): number {
  const seconds = Number(text)
  if (/^\d{1,2}$/.test(text) && seconds <= maxWaitSeconds) return seconds
  throw invalidParameter('wait', `takes whole seconds, from 0 to ${maxWaitSeconds}`)
}
