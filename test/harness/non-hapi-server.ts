import { defaultBehaviour, type ServerBehaviour } from '../../src/sandbox/server-behaviour.js'

/**
 * A server that does everything otherwise than HAPI that FHIR leaves open to it; Azure does much of it so, and Firely
 * shows references so.
 */
export const unlikeHapi: ServerBehaviour = {
  ...defaultBehaviour,
  pages: 'token',
  labels: 'replaced',
  totals: 'counted separately',
  writesShow: 'nothing',
  unknownParameters: 'ignored',
  references: 'unchecked',
  deletes: 'silent',
  json: 'fhir',
  formSearches: 'form alone',
  shownReferences: 'absolute'
}
