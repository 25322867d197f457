import { Failure } from '../envelope/failures.js'

const retryAfterSeconds = '60'

/** There is no room for files of bulk jobs: ours to mend, so a job waits and a client tries again. */
export function noRoom (cause: unknown): Failure {
  return new Failure('BACKEND_UNAVAILABLE', {
    message: 'The gateway has no room for the files of bulk jobs at the moment. Wait for the seconds in Retry-After and try again; jobs that were started go on by themselves.',
    headers: { 'retry-after': retryAfterSeconds },
    cause
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
