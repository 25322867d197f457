import { Failure } from '../../envelope/failures.js'
import { PermanentFailure } from '../job-context.js'

const retryAfterSeconds = 60

/** The failure if disk space is missing, which the operator has to fix: jobs wait, and clients retry. */
export function diskFull (cause: unknown): Failure {
  return new Failure('BACKEND_UNAVAILABLE', {
    message:
      'The gateway has no disk space for bulk jobs at the moment. Jobs that have started continue automatically.',
    retryAfterSeconds,
    cause
  })
}

const howToMakeRoom =
  'Wait for jobs to end, cancel some with DELETE /v1/bulk/jobs/<jobId>, or delete files that you no longer need with DELETE /v1/fhir/_export/<jobId>. They are deleted a day after their job ended.'

/** The failure when the files of one organization reach its limit on a disk that all organizations share. */
export function quotaExceeded (max: number): Failure {
  return new Failure('RATE_LIMITED', {
    message: `The files of your organization's bulk jobs would take up more than ${max} bytes. ${howToMakeRoom}`,
    headers: { 'retry-after': String(retryAfterSeconds) }
  })
}

/** The failure of files that exceed the limit even if all others are deleted. */
export function tooLarge (max: number): Failure {
  return new Failure('PAYLOAD_TOO_LARGE', {
    message: `The files of an organization's bulk jobs can take up ${max} bytes, and this is more. Import or export less at once, or ask the operator to raise bulk.organizationBytes.`
  })
}

/** The failure if a file was changed, so that its content can't be trusted: it ends the job, or the download. */
export function corruptFile (how: string): PermanentFailure {
  return new PermanentFailure('INTERNAL_ERROR', {
    message:
      'Something other than the gateway changed or truncated a file of this job, so the gateway does not use it. Start the job again, and ask the operator to check who else can write to bulk.directory.',
    cause: new Error(how)
  })
}

const full = new Set(['ENOSPC', 'EDQUOT', 'EROFS', 'EIO', 'ESTALE', 'EMFILE', 'ENFILE'])

/** Converts errors of a full or failing disk to {@link diskFull}. @throws {Failure} BACKEND_UNAVAILABLE */
export async function toStorageError<T> (act: () => Promise<T>): Promise<T> {
  try {
    return await act()
  } catch (error) {
    throw full.has((error as NodeJS.ErrnoException).code ?? '') ? diskFull(error) : error
  }
}
