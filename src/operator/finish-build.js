/**
 * The last step of `npm run build`, after the compilation: copies files that are not TypeScript to the output, and
 * deletes outputs whose source no longer exists.
 */
import { chmodSync, cpSync, existsSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'

cpSync('src/control-plane/dashboard/assets', 'dist/control-plane/dashboard/assets', { recursive: true })
chmodSync('dist/operator/cli/index.js', 0o755)

const built = readdirSync('dist', { recursive: true, withFileTypes: true }).filter(
  entry => entry.isFile() && entry.name !== '.tsbuildinfo'
)
for (const { parentPath, name } of built) {
  const path = join(parentPath, name)
  const source = join('src', path.slice('dist/'.length))
  const base = source.replace(/(\.d\.ts|\.js(\.map)?)$/, '')
  if (![source, `${base}.ts`, `${base}.tsx`].some(existsSync)) rmSync(path)
}
