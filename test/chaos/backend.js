// A sandbox in a process of its own, which can be stopped and killed. Usage: node test/chaos/backend.js <file>
import { join } from 'node:path'
import { built } from './built.js'

const { startSandbox } = await import(join(built, 'sandbox', 'sandbox.js'))
const { url } = await startSandbox({ file: process.argv[2], now: () => new Date() })
console.log(url)
