/**
 * `node --import ./test/harness/typescript.js`: lets a process read TypeScript, and JavaScript's names for it, as the
 * tests do.
 */
import { register } from 'node:module'

register('./typescript-hooks.js', import.meta.url)
