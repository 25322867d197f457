import { form, defineSection } from './attack.js'

/**
 * A3 and E1: looks into other records. `{crossing}` is the attacker's and refers to the other's, `{intruder}` the other
 * way round.
 */
export const joins = defineSection([
  { row: 'A3 chain', send: 'GET /Observation?subject:Patient.family={secret}', status: 200, shows: ['"total":0'] },
  { row: 'A3 chain', send: 'GET /Observation?subject:Patient.family={beyondMark}', status: 200, shows: ['"total":0'] },
  { row: 'A3 chain', send: 'GET /Observation?patient.family={beyondMark}', status: 200, shows: ['"total":0'] },
  { row: 'A3 chain', send: 'GET /Observation?subject.family={beyondMark}', status: 200, shows: ['"total":0'] },
  { row: 'A3 chain', send: 'GET /Observation?patient._id={beyond}', status: 200, shows: ['"total":0'] },
  {
    row: 'A3 chain',
    send: 'GET /Observation?patient.identifier=urn:mrn|{beyondMark}',
    status: 200,
    shows: ['"total":0']
  },
  {
    row: 'A3 chain',
    send: 'GET /Observation?performer:Practitioner.family={beyondMark}',
    status: 200,
    shows: ['"total":0']
  },
  {
    row: 'A3 chain',
    send: 'GET /Observation?performer:Practitioner.family={beyondMark}&performer:Practitioner.active=true',
    status: 200,
    shows: ['"total":0']
  },
  { row: 'A3 chain', send: 'GET /Observation?patient.active=true&_id={crossing}', status: 200, shows: ['"total":0'] },
  {
    row: 'A3 chain',
    send: 'GET /Observation?patient.email:missing=true&_id={crossing}',
    status: 200,
    shows: ['"total":0']
  },
  {
    row: 'A3 chain',
    send: 'GET /Observation?patient.active:not=false&_id={crossing}',
    status: 200,
    shows: ['"total":0']
  },
  {
    row: 'A3 chain',
    send: 'GET /Observation?patient.family={ownMark}&code=lab',
    status: 200,
    shows: ['"total":1', '{ownMark}']
  },
  {
    row: 'A3 chain',
    send: 'GET /Observation?subject:Patient.family={ownMark}&code=lab',
    status: 200,
    shows: ['"total":1', '{ownMark}']
  },
  {
    row: 'A3 chain',
    send: 'POST /Observation/_search',
    headers: [form],
    body: 'subject:Patient.family={beyondMark}',
    status: 200,
    shows: ['"total":0']
  },
  ...[
    'patient._tag=urn:clinigate:tenant|{theirTenant}',
    'patient._tag:not=urn:clinigate:tenant|{theirTenant}',
    'subject:Patient._tag={theirTenant}',
    'patient._tag:missing=true',
    'patient._filter=x',
    'patient._list={theirs}',
    'patient._text=x',
    'patient._has:Observation:patient:code=lab',
    'patient.general-practitioner.name=x',
    'patient.general-practitioner:Practitioner.family={beyondMark}',
    'subject:Device.patient.family={beyondMark}',
    'patient.=x',
    'patient..family=x',
    '.family=x',
    'patient.nosuch=x',
    'nosuch.family=x',
    'code.family=x',
    'subject:ValueSet.url=x',
    'subject:Nope.name=x',
    'subject:identifier.value=x',
    'subject:patient.family=x',
    'patient.family:above=x',
    'patient.family.x=y'
  ].flatMap(query => [
    { row: 'A3 chain', send: `GET /Observation?${query}`, status: 400 },
    {
      row: 'A3 chain, lenient',
      send: `GET /Observation?${query}&_id={crossing}`,
      headers: ['prefer: handling=lenient'],
      status: [200, 400],
      hides: ['{beyondMark}']
    }
  ]),
  { row: 'A3 _has', send: 'GET /Patient?_has:Observation:patient:code={secret}', status: 200, shows: ['"total":0'] },
  { row: 'A3 _has', send: 'GET /Patient?_has:Observation:patient:_id={intruder}', status: 200, shows: ['"total":0'] },
  {
    row: 'A3 _has',
    send: 'GET /Patient?_has:Observation:subject:code={intruderCode}',
    status: 200,
    shows: ['"total":0']
  },
  {
    row: 'A3 _has',
    send: 'GET /Patient?_has:Observation:subject:code={intruderCode}&_has:Observation:subject:code=lab',
    status: 200,
    shows: ['"total":0']
  },
  { row: 'A3 _has', send: 'GET /Patient?_has:Observation:patient:code=lab', status: 200, shows: ['{ownMark}'] },
  {
    row: 'A3 _has',
    send: 'GET /Patient?_has:Observation:patient:status=final&_id={beyond}',
    status: 200,
    shows: ['"total":0']
  },
  {
    row: 'A3 _has',
    send: 'POST /Patient/_search',
    headers: [form],
    body: '_has:Observation:patient:_id={intruder}',
    status: 200,
    shows: ['"total":0']
  },
  ...[
    '_has:Observation:subject:_tag=urn:clinigate:tenant|{theirTenant}',
    '_has:Observation:subject:_tag:not=urn:x|y',
    '_has:Observation:patient:_has:Encounter:patient:status=finished',
    '_has:Observation:patient:encounter.status=finished',
    '_has:Observation:code:status=final',
    '_has:Observation:nosuch:code=x',
    '_has:Nope:patient:code=x',
    '_has:ValueSet:x:y=z',
    '_has:Observation:patient=x',
    '_has:Observation=x',
    '_has::=x',
    '_has:AuditEvent:agent:_filter=x',
    '_has:Observation:patient:nosuch=x',
    '_has:observation:patient:code=x',
    '_has:Observation:performer:code:in=http://x'
  ].map(query => ({ row: 'A3 _has', send: `GET /Patient?${query}`, status: 400 })),
  {
    row: 'A3 _include',
    send: 'GET /Observation?_include=Observation:subject&_id={crossing}',
    status: 200,
    hides: ['{beyondMark}']
  },
  {
    row: 'A3 _include',
    send: 'GET /Observation?_include=Observation:subject:Patient&_id={crossing}',
    status: 200,
    hides: ['{beyondMark}']
  },
  {
    row: 'A3 _include',
    send: 'GET /Observation?_include=Observation:performer&_id={crossing}&_elements=status',
    status: 200,
    hides: ['{beyondMark}']
  },
  {
    row: 'A3 _include',
    send: 'GET /Observation?_include=Observation:performer&_id={crossing}&_summary=true',
    status: [200, 400],
    hides: ['{beyondMark}']
  },
  {
    row: 'A3 _include',
    send: 'GET /Observation?_include=Observation:subject&_include=Observation:performer&_count=1',
    status: 200,
    hides: ['{beyondMark}']
  },
  {
    row: 'A3 _include',
    send: 'GET /Observation?_include=Observation:subject&_include:iterate=Patient:general-practitioner&_id={crossing}',
    status: 200,
    hides: ['{beyondMark}'],
    on: 'hapi'
  },
  {
    row: 'A3 _include',
    send: 'GET /Observation?_include=Observation:subject&code=lab',
    status: 200,
    shows: ['"mode":"include"', '{ownMark}']
  },
  {
    row: 'A3 _include',
    send: 'POST /Observation/_search',
    headers: [form],
    body: '_include=Observation:subject&_id={crossing}',
    status: 200,
    hides: ['{beyondMark}']
  },
  {
    row: 'A3 _revinclude',
    send: 'GET /Patient?_revinclude=Observation:subject&_id={own}',
    status: 200,
    shows: ['{ownMark}', '"mode":"include"']
  },
  {
    row: 'A3 _revinclude',
    send: 'GET /Patient?_revinclude=Observation:patient&_revinclude=Provenance:target&_revinclude=List:item&_revinclude=AuditEvent:entity',
    status: [200, 400]
  },
  {
    row: 'A3 _revinclude',
    send: 'GET /Patient?_revinclude=Encounter:subject&_revinclude:iterate=Observation:encounter&_id={own}',
    status: 200,
    on: 'hapi'
  },
  ...[
    '_include=*',
    '_include=Observation:*',
    '_include:iterate=*',
    '_include:recurse=Observation:subject',
    '_include:not=Observation:subject',
    '_include=Patient:general-practitioner',
    '_include=Observation:subject:ValueSet',
    '_include=Observation:subject:Nope',
    '_include=Observation:code',
    '_include=Observation',
    '_include=',
    '_include=Observation:subject:Patient:x',
    '_revinclude=*',
    '_revinclude=ValueSet:x',
    '_revinclude=Subscription:x',
    '_revinclude=Observation:*',
    '_includes=Observation:subject',
    '_include%20=Observation:subject',
    '_INCLUDE=Observation:subject',
    '_include[]=x',
    '_include:iterate=Observation:subject&_include:iterate=Observation:encounter&_include:iterate=Observation:performer&_include:iterate=Observation:device'
  ].map(query => ({ row: 'A3 _include', send: `GET /Observation?${query}`, status: 400 }))
])
