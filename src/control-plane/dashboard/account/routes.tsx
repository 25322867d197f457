import type { FastifyInstance } from 'fastify'
import { hashSecret } from '../../../keys/secret.js'
import type { ControlStore } from '../../store/store.js'
import { addPages, page, type DeclaredPage } from '../declared-page.js'
import { field } from '../form.js'
import { accountPath } from '../paths.js'
import type { DashboardContext } from '../options.js'
import { endSession, signOut } from '../session.js'
import { NamePage } from './name.js'
import { AccountPage } from './page.js'

/** The routes of the member's account, its sessions and signing out. */
export async function accountRoutes (scope: FastifyInstance, parts: DashboardContext): Promise<void> {
  addPages(scope, accountPages(parts))
  scope.post('/sign-out', async (request, reply) => {
    await signOut(request, reply, parts.cookies)
    return endSession(reply)
  })
}

const accountPages = ({ control }: DashboardContext): ReadonlyArray<DeclaredPage<any>> => [
  page({
    path: '/account',
    title: 'Your account',
    show: async ({ request: { member, session }, csrf }) => {
      const { memberId, tenantId } = member
      const organization = tenantId === undefined ? undefined : await control.organizations.find(tenantId)
      return (
        <AccountPage
          member={member}
          organization={organization?.name}
          sessions={await control.sessions.listOf(memberId)}
          own={hashSecret(session.sessionId)}
          csrf={csrf}
        />
      )
    },
    actions: [
      {
        at: '/sessions/end',
        role: 'member',
        run: async ({ member, body }) => {
          await control.sessions.endOf(member.memberId, { idHash: field(body, 'session') })
          return { to: accountPath(), message: 'Session ended.' }
        }
      },
      {
        at: '/sessions/end-others',
        role: 'member',
        run: async ({ member, session }) => {
          await control.sessions.endOf(member.memberId, { except: session.sessionId })
          return { to: accountPath(), message: 'All other sessions ended.' }
        }
      }
    ]
  }),
  namePage(control)
]

const namePage = (control: ControlStore): DeclaredPage<any> => page({
  path: '/account/name',
  title: 'Change your name',
  show: ({ request: { member }, csrf, typed, error }) =>
    <NamePage csrf={csrf} member={member} name={typed?.('name')} error={error} />,
  actions: [{
    role: 'member',
    again: 'invalid or conflict',
    run: async ({ member, body }) => {
      await control.members.changeName(member.memberId, field(body, 'name'))
      return { to: accountPath(), message: 'Name changed.' }
    }
  }]
})
