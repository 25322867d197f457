import { defineSection } from './attack.js'

const wrong = [
  'theirCursor',
  'liveCursor',
  'practitionerCursor',
  'simpleCursor',
  'historyCursor',
  'otherHistoryCursor',
  'tamperedCursor',
  'cutCursor',
  'longCursor',
  'paddedCursor',
  'forgedCursor',
  'theirPages'
]

/** E5: a cursor is valid for the search that returned it, and for no other search or caller. */
export const cursors = defineSection([
  ...wrong.flatMap(name => [
    { row: `E5 ${name}`, send: `GET /Patient?_cursor={${name}}`, status: 400 },
    {
      row: `E5 ${name}`,
      send: 'POST /Patient/_search',
      headers: ['content-type: application/x-www-form-urlencoded'],
      body: `_cursor={${name}}`,
      status: 400
    },
    { row: `E5 ${name}`, send: `GET !/v1/patients?cursor={${name}}`, status: name === 'simpleCursor' ? 200 : 400 }
  ]),
  ...['cursor', 'theirCursor', 'otherHistoryCursor', 'theirHistoryCursor', 'tamperedCursor'].flatMap(name => [
    { row: `E5 ${name} on a history`, send: `GET /Patient/{ownEdit}/_history?_cursor={${name}}`, status: 400 },
    {
      row: `E5 ${name} on a stranger's history`,
      send: `GET /Patient/{stranger}/_history?_cursor={${name}}`,
      status: 404
    },
    { row: `E5 ${name} on $everything`, send: `GET /Patient/{own}/$everything?_cursor={${name}}`, status: 400 }
  ]),
  {
    row: 'E5 own cursor',
    send: 'GET /Patient?_cursor={cursor}',
    status: 200,
    shows: ['searchset', '"resourceType":"Patient"']
  },
  {
    row: 'E5 own cursor',
    send: 'POST /Patient/_search',
    headers: ['content-type: application/x-www-form-urlencoded'],
    body: '_cursor={cursor}',
    status: 200,
    shows: ['searchset']
  },
  { row: 'E5 own cursor', send: 'GET /Patient?_cursor={cursor}', as: 'reader', status: 200 },
  { row: 'E5 own cursor', send: 'GET /Patient?_cursor={cursor}', as: 'writer', status: 403 },
  { row: 'E5 own cursor', send: 'GET /Patient?_cursor={cursor}', as: 'live', status: 400 },
  { row: 'E5 own cursor', send: 'GET /Patient?_cursor={cursor}', as: 'victim', status: 400 },
  { row: 'E5 own cursor', send: 'GET /Patient?_cursor={cursor}', as: 'nobody', status: 401 },
  {
    row: 'E5 own cursor',
    send: 'GET /Patient/{ownEdit}/_history?_cursor={historyCursor}',
    status: 200,
    shows: ['"history"']
  },
  { row: 'E5 own cursor with more', send: 'GET /Patient?_cursor={cursor}&_tag=urn:x|y', status: 400 },
  {
    row: 'E5 own cursor with more',
    send: 'GET /Patient?_cursor={cursor}&_include=Patient:general-practitioner',
    status: 400
  },
  {
    row: 'E5 own cursor with more',
    send: 'POST /Patient/_search?_cursor={cursor}',
    headers: ['content-type: application/x-www-form-urlencoded'],
    body: 'family=x',
    status: 400
  }
])
