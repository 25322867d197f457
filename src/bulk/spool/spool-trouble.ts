import { Failure } from '../../envelope/failures.js'
import { FinalFailure } from '../work.js'

const retryAfterSeconds = '60'

/** There is no room for files of bulk jobs: ours to mend, so a job waits and a client tries again. */
export function noRoom (cause: unknown): Failure {
  return new Failure('BACKEND_UNAVAILABLE', {
    message: 'The gateway has no room for the files of bulk jobs at the moment. Wait for the seconds in Retry-After and try again; jobs that were started go on by themselves.',
    headers: { 'retry-after': retryAfterSeconds },
    cause
  })
}

/** A file is not as the gateway left it, so that nothing of it can be believed: it ends the job, or the download. */
export function damaged (how: string): FinalFailure {
  return new FinalFailure('INTERNAL_ERROR', {
    message: 'A file of this job was changed or cut by something other than the gateway, so it is not used. Start the job again, and tell the operator to see who else can write to bulk.directory.',
    cause: new Error(how)
  })
}

const full = new Set(['ENOSPC', 'EDQUOT', 'EROFS', 'EIO', 'ESTALE', 'EMFILE', 'ENFILE'])

/** Says of a disk that is full or fails that there is no room. @throws {Failure} BACKEND_UNAVAILABLE */
export async function inTrouble<T> (act: () => Promise<T>): Promise<T> {
  try {
    return await act()
  } catch (error) {
    throw full.has((error as NodeJS.ErrnoException).code ?? '') ? noRoom(error) : error
  }
}
