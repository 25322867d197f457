import fp from 'fastify-plugin'
import type { FastifyReply } from 'fastify'
import type { Cookies } from './options.js'
import { Layout, type PageOrganization } from './layout.js'

/** The facts of a page for the layout. */
export interface PageFacts {
  /** Puts the links of this organization above the page for operators. */
  readonly organization?: PageOrganization
  /** The link to mark as current, where the page's own path is not below it. */
  readonly under?: string
}

/** Maximum time from an action to the page that shows its notice. */
const noticeSeconds = 60

/** Lets replies send complete pages, and redirects carry a notice. */
export const pageReplies = fp<{ readonly cookies: Cookies }>(async (app, { cookies: { notice, flags } }) => {
  app.decorateReply(
    'page',
    async function (title: string, content: JSX.Element, facts: PageFacts = {}): Promise<FastifyReply> {
      const message = this.request.cookies?.[notice]
      if (message !== undefined) this.clearCookie(notice, flags)
      const html = await (
        <Layout
          title={formatTitle(this, title)}
          content={await content}
          path={facts.under ?? getPath(this)}
          viewer={getViewer(this)}
          organization={facts.organization}
          notice={message}
        />
      )
      return this.type('text/html; charset=utf-8').send(html)
    }
  )
  app.decorateReply('done', function (path: string, text?: string): FastifyReply {
    if (text !== undefined) this.setCookie(notice, text, { ...flags, maxAge: noticeSeconds })
    return this.redirect(path, 303)
  })
}, { name: 'dashboard-pages', dependencies: ['dashboard-sessions'], fastify: '5.x' })

/** Puts the form's error first: the title is all that a screen reader reads of a page that is shown again. */
const formatTitle = ({ statusCode }: FastifyReply, title: string): string =>
  statusCode === 422 || statusCode === 409 ? `Error: ${title}` : title

const getPath = ({ request }: FastifyReply): string => request.raw.url!.split('?', 1)[0]!

function getViewer (reply: FastifyReply) {
  const { member } = reply.request
  // None on pages that need no sign-in, nor after an error before the member is known.
  return member ? { member, csrf: reply.generateCsrf() } : undefined
}

declare module 'fastify' {
  interface FastifyReply {
    /** Sends a complete page; set the status before, if it is not 200. */
    page: (title: string, content: JSX.Element, facts?: PageFacts) => Promise<FastifyReply>
    /**
     * Redirects to a page by 303, as every successful form does; the page shows `text` at its top, once. Never put a
     * secret there.
     */
    done: (path: string, text?: string) => FastifyReply
  }
}
