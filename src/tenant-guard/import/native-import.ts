import { fetchOperationStatus, kickOff } from '../async-operation.js'
import { toRelativeUrl } from '../public-urls.js'
import { unexpectedResponse, type TenantContext } from '../tenant-context.js'

/** A file that a datastore is to fetch. */
interface OfferedFile { readonly type: string, readonly url: string }

/** The files that a datastore imports, and the user and password by which it may fetch them. */
interface Offered { readonly files: readonly OfferedFile[], readonly credentials: string }

/**
 * A datastore's native `$import`, for one tenant. The datastore checks nothing, so the gateway offers it only records
 * that are tagged and whose references are stored.
 */
export interface NativeImport {
  /** @returns the URL of the status, relative to the datastore's base URL; undefined without support for `$import` */
  begin (offered: Offered): Promise<string | undefined>
  /**
   * Whether the datastore has finished an import. The results must be read back: HAPI does not report which records
   * failed.
   */
  hasEnded (job: string): Promise<boolean>
}

/** Opens the import of a datastore for one tenant. */
export function createNativeImport (context: TenantContext): NativeImport {
  return {
    begin: offered => begin(context, offered),
    // One that failed has ended, too: HAPI responds so when a single record failed.
    hasEnded: async job => (await fetchOperationStatus(context, job))?.status !== 202
  }
}

/** Lines that HAPI stores in one transaction; one that it can't read fails them all. */
const linesOfOneBatch = 200

async function begin (context: TenantContext, { files, credentials }: Offered): Promise<string | undefined> {
  const parameter = [
    { name: 'inputFormat', valueCode: 'application/fhir+ndjson' },
    {
      name: 'storageDetail',
      part: [
        { name: 'type', valueCode: 'https' },
        { name: 'credentialHttpBasic', valueString: credentials },
        { name: 'maxBatchResourceCount', valueInteger: linesOfOneBatch }
      ]
    },
    ...files.map(({ type, url }) => ({
      name: 'input',
      part: [
        { name: 'type', valueCode: type },
        { name: 'url', valueUri: url }
      ]
    }))
  ]
  const response = await kickOff(context, { path: '$import', parameter, reason: 'an import was not begun' })
  if (response === undefined) return undefined
  const path = toRelativeUrl(String(response.headers['content-location']), context)
  if (path === undefined) {
    throw unexpectedResponse(response, 'the address of an import is not below the base URL that is configured')
  }
  return path
}
