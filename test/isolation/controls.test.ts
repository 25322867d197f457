import t from 'tap'
import { buildSource } from './built-source.js'
import { controls } from './controls.js'

// The run that switches controls off takes long and is rare; a text that has moved is found here.
t.test('what each control switches off stands in the program exactly once', async t => {
  const files = new Map(controls.flatMap(({ patches }) => patches).map(({ file }) => [file, buildSource(file)]))
  const wrong = controls.flatMap(({ control, patches }) =>
    patches
      .map(({ file, find }) => ({ control, file, times: files.get(file)!.split(find).length - 1 }))
      .filter(({ times }) => times !== 1)
  )
  t.ok(controls.length > 0)
  t.strictSame(wrong, [])
})
