import { test } from 'tap'
import { dashboardRoutes } from '../harness/dashboard-routes.js'
import { setScene, type TestClock } from '../harness/dashboard-scene.js'
import { signedIn } from '../harness/dashboard.js'
import { startGateway } from '../harness/gateway.js'

const typedForm = /<form method="post" action="([^"]*)" class="stacked">(?:(?!<\/form>).)*<input id=/gs

// A refused form stood at an address of its own, at which there was nothing, or a list, for whoever reloaded it or
// signed in again.
test('every form that takes text is sent to the page on which it stands', async t => {
  const clock: TestClock = { shiftMs: 0 }
  const gateway = await startGateway(t, { now: () => new Date(Date.now() + clock.shiftMs) })
  const scene = await setScene(gateway.control, clock)
  const operator = await signedIn(gateway, { role: 'operator' })
  const pages = (await dashboardRoutes(gateway.control)).filter(
    ({ method, path }) => method === 'GET' && !/assets|:token$|sign-in|choose/.test(path)
  )
  let forms = 0
  for (const { path } of pages) {
    const page = path.replace(/:(\w+)/g, (_, name: keyof typeof scene) => scene[name])
    for (const [, action] of (await operator.get(page)).html.matchAll(typedForm)) {
      forms += 1
      t.equal(action, page)
    }
  }
  t.ok(forms >= 8, `${forms} forms`)
})
