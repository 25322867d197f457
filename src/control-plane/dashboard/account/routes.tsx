import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { hashSecret } from '../../../keys/secret.js'
import { field, redisplayOnError, statusOf, toFormError } from '../form.js'
import { accountPath } from '../paths.js'
import type { DashboardContext } from '../options.js'
import { endSession, signOut } from '../session.js'
import { NamePage } from './name.js'
import { AccountPage } from './page.js'

/** The routes of the member's account, its sessions and signing out. */
export async function accountRoutes (scope: FastifyInstance, parts: DashboardContext): Promise<void> {
  const { control, cookies } = parts
  scope.get('/account', async ({ member, session }, reply) => {
    const sessions = await control.sessions.listOf(member.memberId)
    const organization = member.tenantId === undefined ? undefined : await control.organizations.find(member.tenantId)
    const facts = {
      member,
      organization: organization?.name,
      sessions,
      own: hashSecret(session.sessionId),
      csrf: reply.generateCsrf()
    }
    return await reply.page('Your account', <AccountPage {...facts} />)
  })
  scope.get(
    '/account/name',
    async ({ member }, reply) => await reply.page(nameTitle, <NamePage csrf={reply.generateCsrf()} member={member} />)
  )
  scope.post('/account/name', async (request, reply) => await changeName(request, reply, parts))
  scope.post('/account/sessions/end', async ({ member, body }, reply) => {
    await control.sessions.endOf(member.memberId, { idHash: field(body, 'session') })
    return reply.done(accountPath(), 'Session ended.')
  })
  scope.post('/account/sessions/end-others', async ({ member, session }, reply) => {
    await control.sessions.endOf(member.memberId, { except: session.sessionId })
    return reply.done(accountPath(), 'All other sessions ended.')
  })
  scope.post('/sign-out', async (request, reply) => {
    await signOut(request, reply, cookies)
    return endSession(reply)
  })
}

const nameTitle = 'Change your name'

async function changeName (
  { member, body }: FastifyRequest,
  reply: FastifyReply,
  { control }: DashboardContext
): Promise<FastifyReply> {
  const name = field(body, 'name')
  return await redisplayOnError(
    async () => {
      await control.members.changeName(member.memberId, name)
      return reply.done(accountPath(), 'Name changed.')
    },
    async refusal =>
      await reply
        .code(statusOf(refusal))
        .page(
          nameTitle,
        <NamePage csrf={reply.generateCsrf()} member={member} name={name} error={toFormError(refusal)} />
        )
  )
}
