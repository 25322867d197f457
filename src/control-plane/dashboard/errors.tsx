import type { FastifyReply, FastifyRequest } from 'fastify'
import { ControlError } from '../store/control-error.js'
import { toFailure } from '../../envelope/error-handlers.js'
import type { RefusalPages } from '../../envelope/malformed-http.js'
import { toHttpStatus } from './form.js'
import { Layout } from './layout.js'
import { home } from './paths.js'
import { unstyledPageHeaders } from './security.js'
import { findFormPage } from './sign-in/next.js'

interface Explained { readonly status: number, readonly title: string, readonly message: string }

/** Responds to any error on a page with a page that says what to do; only internal errors are logged. */
export async function sendErrorPage (
  error: unknown, request: FastifyRequest, reply: FastifyReply
): Promise<FastifyReply> {
  const { status, title, message } = explain(error, request)
  // The request was refused before the dashboard's own hooks.
  if (!reply.raw.hasHeader('content-security-policy')) {
    return reply.code(status).headers(unstyledErrorPages.headers).send(renderBarePage({ title, message }))
  }
  return await reply
    .code(status)
    .page(
      title,
    <ErrorPage
      title={title}
      message={message}
      requestId={status >= 500 ? request.id : undefined}
      form={request.method === 'POST' ? findFormPage(request) : undefined}
    />
    )
}

/** Responds to a path below the dashboard that has no page. */
export async function sendNotFoundPage (_: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  return await reply.code(404).page(missing.title, <ErrorPage {...missing} />)
}

/** The dashboard's error pages for requests that reach none of its routes, such as a malformed URL. */
export const unstyledErrorPages: RefusalPages = {
  below: home,
  headers: { ...unstyledPageHeaders, 'content-type': 'text/html; charset=utf-8' },
  body: ({ title }) =>
    renderBarePage({
      title,
      message:
        'The address, or what the browser sent with it, is too long or cannot be read. Check the address and try again.'
    })
}

/** A page that is the same for every reader. */
function renderBarePage ({ title, message }: Pick<Explained, 'title' | 'message'>): string {
  const safeContent = <ErrorPage title={title} message={message} />
  return <Layout title={title} content={safeContent as string} path={home} /> as string
}

const missing = { title: 'Not found', message: 'There is nothing here, or it belongs to another organization.' }

function explain (error: unknown, request: FastifyRequest): Explained {
  if (error instanceof ControlError) {
    return { status: toHttpStatus(error), title: titles[error.reason], message: error.message }
  }
  if (isTokenError(error)) {
    return {
      status: 403,
      title: 'Not accepted',
      message:
        'This form is out of date, or this browser blocks cookies. Nothing was changed. Go back to the form and try again.'
    }
  }
  const failure = toFailure(error)
  if (failure.status >= 500) request.log.error({ code: failure.code, err: failure.cause }, failure.title)
  if (failure.status === 404) return { status: 404, ...missing }
  if (failure.status === 403) return { status: 403, title: 'Not accepted', message: failure.message }
  if (failure.status >= 500) {
    return {
      status: failure.status,
      title: 'Something went wrong',
      message:
        'It is our fault, and it has been logged. Try again. If it happens again, give the operators of the service the request id below.'
    }
  }
  return {
    status: failure.status,
    title: failure.title,
    message: 'The browser sent something that this page does not take. Go back and try again.'
  }
}

const titles = {
  missing: 'Not found',
  forbidden: 'Not allowed',
  invalid: 'Not possible',
  conflict: 'No longer possible'
} as const

function isTokenError (error: unknown): boolean {
  return String((error as { code?: unknown } | null)?.code).startsWith('FST_CSRF_')
}

interface ErrorPageProps extends Pick<Explained, 'title' | 'message'> {
  readonly requestId?: string
  /** The page of the form that failed; the script preserves the text that was typed into it. */
  readonly form?: string
}

function ErrorPage ({ title, message, requestId, form }: ErrorPageProps) {
  return (
    <section class='empty' data-unsaved={form !== undefined}>
      <h1 safe>{title}</h1>
      <p safe>{message}</p>
      {requestId === undefined ? '' : <p>Request id: <code safe>{requestId}</code></p>}
      <div class='actions'>
        {form === undefined ? '' : <a class='button button-primary' href={form}>Back to the form</a>}
        <a class='button' href={home}>To the dashboard</a>
      </div>
    </section>
  )
}
