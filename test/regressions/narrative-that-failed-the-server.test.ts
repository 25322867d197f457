import t from 'tap'
import { startSandbox } from '../../src/sandbox/sandbox.js'
import { bundle, entry, isRefused, openWorld, patient } from '../passthrough/fixture.js'

// HAPI answers another root with 500, so a client got 502 and was told to try again.
t.test('a narrative that is not within <div> is refused with its path', async t => {
  const sandbox = await startSandbox({ file: ':memory:', now: () => new Date() })
  t.after(() => sandbox.close())
  const { send } = await (await openWorld(t, { url: sandbox.url, server: 'sandbox' })).fhir()
  const told = (div: string) => patient({ text: { status: 'generated', div } })
  const xhtml = 'xmlns="http://www.w3.org/1999/xhtml"'
  for (const div of [
    `<p ${xhtml}>x</p>`,
    ' <script>x</script>',
    '<Div>x</Div>',
    '<div2/>',
    '<div.x/>',
    '<?xml version="1.0"?><p>x</p>',
    '<h:p xmlns:h="http://www.w3.org/1999/xhtml">x</h:p>',
    'x < y <b>z</b>'
  ]) {
    isRefused(
      t,
      await send('POST', '/Patient', told(div)),
      {
        status: 422,
        code: 'structure',
        diagnostics: /within one <div>, with text or an image, without scripts$/,
        expression: ['Patient.text.div']
      },
      div
    )
    isRefused(
      t,
      await send(
        'POST',
        '',
        bundle('transaction', entry('POST', 'Patient', patient()), entry('POST', 'Patient', told(div)))
      ),
      { status: 422, expression: ['Bundle.entry[1].resource.text.div'] },
      div
    )
    t.match(
      await send('POST', '/Patient/$validate', told(div)),
      { status: 200, resource: { issue: [{ code: 'structure', expression: ['Patient.text.div'] }] } },
      div
    )
  }
  for (const div of [
    `<div ${xhtml}>x</div>`,
    `\n<div\n${xhtml}><p>x</p></div>`,
    `<?xml version="1.0"?><div ${xhtml}>x</div>`,
    '<h:div xmlns:h="http://www.w3.org/1999/xhtml">x</h:div>'
  ]) {
    t.match(await send('POST', '/Patient', told(div)), { status: 201 }, div)
  }
})
