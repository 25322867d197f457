import { randomUUID } from 'node:crypto'
import { Client } from 'fhir-kit-client'
import { testClient, type GatewayAccess, type Report } from './client-contract.js'

await testClient('fhir-kit-client works with the gateway as with any R4 server', { run })

async function run ({ base, key }: GatewayAccess): Promise<Report> {
  const client = new Client({ baseUrl: base, customHeaders: { 'x-api-key': key } })
  const identifier = [{ system: 'http://mrn', value: randomUUID() }]
  const body: any = { resourceType: 'Patient', identifier, gender: 'female', name: [{ family: 'Byron' }] }
  const created: any = await client.create({ resourceType: 'Patient', body })
  const record = { resourceType: 'Patient', id: created.id }
  const read: any = await client.read(record)
  const again = await client.create({
    resourceType: 'Patient',
    body,
    options: { headers: { 'If-None-Exist': `identifier=http://mrn|${identifier[0]!.value}` } }
  })
  const update = (): Promise<any> =>
    client.update({
      ...record,
      body: { ...body, id: created.id, active: true },
      options: { headers: { 'If-Match': 'W/"1"' } }
    })
  const updated = await update()
  const staleStatus = await getStatus(update())
  const patched: any = await client.patch({
    ...record,
    jsonPatch: [{ op: 'replace', path: '/gender', value: 'other' }]
  })
  const history: any = await client.history(record)
  const many = Array.from({ length: 45 }, (_, i) => ({
    fullUrl: `urn:uuid:${randomUUID()}`,
    resource: { resourceType: 'Patient', name: [{ family: 'Many', given: [`${i}`] }] },
    request: { method: 'POST', url: 'Patient' }
  }))
  const about = {
    resource: {
      resourceType: 'Observation',
      status: 'final',
      code: { text: 'x' },
      subject: { reference: many[0]!.fullUrl }
    },
    request: { method: 'POST', url: 'Observation' }
  }
  const written: any = await client.transaction({
    body: { resourceType: 'Bundle', type: 'transaction', entry: [about, ...many] } as any
  })
  const [observation, first] = written.entry.map(({ response }: any) =>
    response.location.replace(`${base}/`, '').replace(/\/_history\/.*/, '')
  )
  const { subject }: any = await client.read({ resourceType: 'Observation', id: observation.split('/')[1] })
  const ids = new Set<string>()
  for (
    let page: any = await client.search({ resourceType: 'Patient', searchParams: { family: 'Many', _count: 10 } });
    page !== undefined;
    page = await client.nextPage({ bundle: page })
  ) {
    for (const { resource } of page.entry) ids.add(resource.id)
  }
  await client.delete(record)
  return {
    createdVersion: created.meta.versionId,
    readFamily: read.name[0].family,
    isSameRecord: again.id === created.id,
    updatedVersion: updated.meta.versionId,
    staleStatus,
    patchedGender: patched.gender,
    historyVersions: history.entry.map(({ resource }: any) => resource.meta.versionId),
    writtenStatuses: written.entry.map(({ response }: any) => response.status),
    isSubjectFirst: subject.reference === first,
    found: ids.size,
    deletedStatus: await getStatus(client.read(record))
  }
}

async function getStatus (request: Promise<unknown>): Promise<number> {
  try {
    await request
    return 200
  } catch (error) {
    return (error as { response: { status: number } }).response.status
  }
}
