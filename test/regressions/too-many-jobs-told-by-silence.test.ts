import t from 'tap'
import { maxUnfinishedJobs } from '../../src/jobs/model/unfinished-jobs.js'
import { remoteLink } from '../../src/control-plane/sync/remote.js'
import { draftOf } from '../control-store/jobs-contract.js'
import { standIn, startControlPlane } from '../sync/control-plane.js'

// That an organization has too many jobs was told to a gateway by an answer in which nothing was, so that nothing else
// could ever be refused.

/** What an older version asks and answers, and what this one does. */
const [question, older] = ['jobs/create?reasons=true', 'jobs/create']
const reason = { refused: 'too many unfinished jobs' }
const tooMany = { code: 'RATE_LIMITED', status: 429, message: /bulk jobs that have not ended/ }

t.test(
  'the control plane says why it makes no job to a gateway that takes reasons, and is silent to an older one',
  async t => {
    const { app, control, token } = await startControlPlane(t)
    const ask = async (path: string) => {
      const response = await app.inject({
        method: 'POST',
        url: `/control/v1/link/${path}`,
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        payload: JSON.stringify([draftOf()])
      })
      return [response.statusCode, response.json()]
    }
    t.match(await ask(question), [200, { response: { status: 'pending' } }])
    t.match(await ask(older), [200, { response: { status: 'pending' } }])
    for (let made = 2; made < maxUnfinishedJobs; made++) await control.jobs.create(draftOf())
    t.strictSame(await ask(question), [200, reason])
    t.strictSame(await ask(older), [200, {}])
  }
)

t.test(
  'a gateway takes the reason, or the silence of an older control plane, and no reason that it does not know',
  async t => {
    const requested: string[] = []
    const answers = [reason, {}, { refused: 'another reason' }]
    const url = await standIn(t, (request, response) => {
      requested.push(request.url!)
      request.resume().once('end', () => response.end(JSON.stringify(answers[requested.length - 1])))
    })
    const link = remoteLink({ url, token: 'cg_gateway_never-to-be-seen' })
    t.after(() => link.close())
    for (const refusal of [tooMany, tooMany, { code: 'BACKEND_UNAVAILABLE', status: 503 }]) {
      await t.rejects(link.jobs.create(draftOf()), refusal)
    }
    t.strictSame([...new Set(requested)], [`/control/v1/link/${question}`])
  }
)
