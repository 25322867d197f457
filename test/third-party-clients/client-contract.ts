import { dirname } from 'node:path'
import t, { type Test } from 'tap'
import { startBuiltGateway } from '../fuzz/gateway.js'
import { requireRealBackend } from '../harness/backend.js'
import { buildMain } from '../harness/built.js'
import { findFreePort } from '../harness/free-port.js'

/** Where a client finds raw FHIR, and its key. */
export interface GatewayAccess { readonly base: string, readonly key: string }

/** The client's results at the gateway, one step after the other. */
export interface Report {
  /** Version of a Patient Byron, female, after its create. */
  readonly createdVersion: string
  /** Its family name when it was read. */
  readonly readFamily: string
  /** Whether a create with If-None-Exist showed that very record. */
  readonly isSameRecord: boolean
  /** Version after an update to `active: true` with If-Match of the first version. */
  readonly updatedVersion: string
  /** Status of the same update once more. */
  readonly staleStatus: number
  /**
   * Gender after a JSON Patch of it to `other`; null where the client has no JSON Patch, and the gender is updated
   * instead.
   */
  readonly patchedGender: string | null
  /** Versions in the history, newest first. */
  readonly historyVersions: readonly string[]
  /**
   * First words of the status of each entry of a transaction: 45 Patients Many, and an Observation whose subject is the
   * urn of the first.
   */
  readonly writtenStatuses: readonly string[]
  /** Whether the subject of the Observation is the first of the Patients. */
  readonly isSubjectFirst: boolean
  /** How many different Patients Many the client found, over pages of 10. */
  readonly found: number
  /** Status of a read after the delete of the first record. */
  readonly deletedStatus: number
}

/**
 * Runs a client of another project against a gateway process in front of the real FHIR server: everything must work as
 * with any other R4 server.
 */
export async function testClient (
  title: string,
  {
    run,
    hasPatch = true,
    skip
  }: {
    readonly run: (access: GatewayAccess, t: Test) => Promise<Report>
    readonly hasPatch?: boolean
    readonly skip?: string | false | undefined
  }
): Promise<void> {
  // Building the program and starting Java or Python take their time on a busy machine.
  t.setTimeout(480_000)
  await t.test(title, { skip: skip ?? false, timeout: 480_000 }, async t => {
    // The port must be known beforehand, since its links have it.
    const gateway = await startBuiltGateway({
      dist: dirname(buildMain()),
      fhirUrl: requireRealBackend().url,
      port: await findFreePort()
    })
    t.after(gateway.stop)
    const report = await run({ base: `${gateway.url}/v1/fhir`, key: gateway.key }, t)
    t.strictSame(report, {
      createdVersion: '1',
      readFamily: 'Byron',
      isSameRecord: true,
      updatedVersion: '2',
      staleStatus: 412,
      patchedGender: hasPatch ? 'other' : null,
      historyVersions: ['3', '2', '1'],
      writtenStatuses: Array(46).fill('201 Created'),
      isSubjectFirst: true,
      found: 45,
      deletedStatus: 404
    } satisfies Report)
    t.equal(gateway.log(), '', 'the gateway has no error in its log')
  })
}
