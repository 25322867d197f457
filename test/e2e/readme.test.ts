import t from 'tap'
import { followReadme } from './readme.js'

t.test('a newcomer follows the README on the embedded sandbox', t => followReadme(t))
