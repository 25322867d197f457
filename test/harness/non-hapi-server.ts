import { defaultBehaviour, type ServerBehaviour } from '../../src/sandbox/server-behaviour.js'

/**
 * A server that does everything otherwise than HAPI that FHIR leaves open to it; Azure does much of it so, and Firely
 * shows references so.
 */
export const unlikeHapi: ServerBehaviour = {
  ...defaultBehaviour,
  pages: 'token',
  labels: 'replaced',
  totals: 'counted apart',
  writesShow: 'nothing',
  unknownParameters: 'passed over',
  references: 'as given',
  deletes: 'silent',
  json: 'fhir',
  formSearches: 'form alone',
  shownReferences: 'absolute'
}
