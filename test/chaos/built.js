import { join } from 'node:path'

/** The built program that is put to the test; a test that runs beside others builds one of its own. */
export const built = process.env.CLINIGATE_BUILT ?? join(import.meta.dirname, '..', '..', 'dist')
