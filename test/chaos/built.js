import { join } from 'node:path'

/** The built program under test. */
export const built = join(import.meta.dirname, '..', '..', 'dist')
