import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'

const root = join(import.meta.dirname, '..')
const imports = /^import \{([^}]+)\} from '\.\.\/dist\/([^']+)\.js'$/gm

t.test('the modules that a benchmark imports from the build exist', async t => {
  const taken = readdirSync(join(root, 'bench')).filter(name => name.endsWith('.js')).flatMap(script =>
    [...readFileSync(join(root, 'bench', script), 'utf8').matchAll(imports)].map(([, names = '', module = '']) => ({
      script, module, names: names.split(',').map(name => name.trim())
    })))
  t.ok(taken.length > 5)
  for (const { script, module, names } of taken) {
    const exported = await import(`../src/${module}.js`) as Record<string, unknown>
    for (const name of names) t.ok(name in exported, `${script}: ${name} of ${module}`)
  }
})
