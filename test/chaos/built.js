import { join } from 'node:path'

/** The built program, which is put to the test. */
export const built = join(import.meta.dirname, '..', '..', 'dist')
