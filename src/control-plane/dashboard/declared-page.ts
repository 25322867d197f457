import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Actor } from '../../config/actor.js'
import { createIdempotencyToken } from '../store/context.js'
import type { ControlError } from '../store/control-error.js'
import type { Organization } from '../store/organizations.js'
import { requireAdmin, requireOperator } from '../store/permissions.js'
import { readField, redisplayOnError, toHttpStatus, toFormError, type FormError } from './form.js'
import type { PageFacts } from './page.js'

/** The query of a page. */
export type PageQuery = Readonly<Record<string, string | string[] | undefined>>

/** The ids in the path of a page: those that its path names. */
type PathIds = Readonly<
  Record<'tenantId' | 'keyId' | 'memberId' | 'invitationId' | 'tokenId' | 'webhookId', string>
>

/** A request to a declared page: the control service of its member, the ids in its path, and what was typed. */
export type PageRequest = FastifyRequest<{ Params: PathIds, Querystring: PageQuery }>

/** The members who may do something: all who may see the page's subject, or those with a role. */
type RequiredRole = 'member' | 'admin' | 'operator'

/** The content of a page about a subject. */
export interface PageView<Subject> {
  readonly subject: Subject
  readonly request: PageRequest
  /** The token of the session, which each form sends. */
  readonly csrf: string
  /** For a form that creates something: makes a second sending of the same form known. */
  readonly once: string
  /** Whether the member is shown forms. */
  readonly mayChange: boolean
  /** Why a form is shown again; undefined at first. */
  readonly error: FormError | undefined
  /** The text in a field of a form that is shown again; absent at first. */
  readonly typed?: (name: string) => string
}

/** Where an action ends: at another page, with a message at its top, or in a page that is shown only once. */
type Outcome =
  | { readonly to: string, readonly message?: string }
  | { readonly title: string, readonly content: JSX.Element, readonly facts?: PageFacts }

/** Something that a form of a page does. */
interface Action<Subject> {
  /** Below the path of the page; the page itself by default. */
  readonly at?: string
  /** The members who may use it; admins by default. It is checked once the subject is loaded. */
  readonly role?: RequiredRole
  readonly run: (request: PageRequest, subject: Subject) => Promise<Outcome>
  /**
   * When the page shows its form again, with the reason: where the control plane finds it invalid, or also where it is
   * in conflict. All other refusals become an error page.
   */
  readonly redisplayOn?: 'invalid' | 'invalid or conflict'
}

/** One page below `/dashboard`: its path, its readers, its subject, its content and the actions of its forms. */
export interface DeclaredPage<Subject> {
  readonly path: string
  /** The members who may read it: all who may see the subject by default. */
  readonly role?: RequiredRole
  /** Loads the subject of the page. @throws {ControlError} where the member may not see it */
  readonly load?: (request: PageRequest) => Promise<Subject>
  /** The path of another page for members who have no use of this one. */
  readonly redirectTo?: (request: PageRequest) => string | undefined
  readonly title?: string | ((subject: Subject) => string)
  /** The content; absent for a path that has actions only. */
  readonly show?: (view: PageView<Subject>) => JSX.Element
  readonly facts?: (subject: Subject, request: PageRequest) => PageFacts | Promise<PageFacts>
  readonly actions?: ReadonlyArray<Action<Subject>>
}

/** Declares a page; content and actions that do not match what it is about do not compile. */
export function definePage<Subject> (declared: DeclaredPage<Subject>): DeclaredPage<any> {
  return declared
}

/** The common parts of the pages about an organization. */
export const organizationPageBase = {
  load: ({ controlService, params }: PageRequest): Promise<Organization> =>
    controlService.findOrganization(params.tenantId),
  facts: (organization: Organization): PageFacts => ({ organization })
}

/**
 * The common parts of two pages: of what belongs to an organization, and of what belongs to no organization and so to
 * the operators. The subject is the organization, undefined on the operators' page.
 * @param toPath returns the path of either page in the layout
 */
export function createOptionalOrganizationBase (toPath: (tenantId: string | undefined) => string | undefined) {
  return {
    load: async ({ controlService, params }: PageRequest): Promise<Organization | undefined> =>
      params.tenantId === undefined ? undefined : await controlService.findOrganization(params.tenantId),
    facts: (organization: Organization | undefined): PageFacts => ({
      under: toPath(organization?.tenantId),
      ...organization !== undefined && { organization }
    })
  }
}

/** The facts of a page about a thing that belongs to an organization, or to none. */
export async function fetchPageFacts (
  under: string,
  tenantId: string | undefined,
  { controlService }: Pick<FastifyRequest, 'controlService'>
): Promise<PageFacts> {
  return {
    under,
    ...tenantId !== undefined && { organization: await controlService.findOrganization(tenantId) }
  }
}

/** A single value of the query. */
export function queryParameter (value: string | string[] | undefined): string | undefined {
  return typeof value === 'string' ? value : undefined
}

/** Serves declared pages: GET shows one, POST runs an action and leads on, or shows the form again. */
export function addPages (scope: FastifyInstance, pages: ReadonlyArray<DeclaredPage<any>>): void {
  for (const declared of pages) {
    const { path, role, show, actions = [] } = declared
    const guard = role === 'operator' ? { onRequest: requireOperatorMember } : {}
    if (show !== undefined) {
      scope.get(path, guard, async (request, reply) => await open(declared, request as PageRequest, reply))
    }
    for (const action of actions) {
      scope.post(path + (action.at ?? ''), guard, async (request, reply) =>
        await runAction({ declared, action }, request as PageRequest, reply))
    }
  }
}

async function requireOperatorMember ({ controlService }: FastifyRequest): Promise<void> {
  requireOperator(controlService.actor)
}

const requirements: Readonly<Record<RequiredRole, (actor: Actor) => void>> = {
  member: () => {},
  admin: requireAdmin,
  operator: requireOperator
}

/** The subject first, so that one of another organization is missing for every role. */
async function loadSubject<Subject> (
  { load }: DeclaredPage<Subject>,
  request: PageRequest,
  role: RequiredRole = 'member'
): Promise<Subject> {
  const subject = await load?.(request)
  requirements[role](request.controlService.actor)
  return subject as Subject
}

async function open<Subject> (
  declared: DeclaredPage<Subject>, request: PageRequest, reply: FastifyReply
): Promise<FastifyReply> {
  const elsewhere = declared.redirectTo?.(request)
  if (elsewhere !== undefined) return reply.redirect(elsewhere, 303)
  return await render({ declared, subject: await loadSubject(declared, request, declared.role) }, request, reply)
}

interface Rendered<Subject> {
  readonly declared: DeclaredPage<Subject>
  readonly subject: Subject
  readonly refusal?: ControlError
}

async function render<Subject> (
  { declared: { title, show, facts }, subject, refusal }: Rendered<Subject>,
  request: PageRequest,
  reply: FastifyReply
): Promise<FastifyReply> {
  if (refusal !== undefined) reply.code(toHttpStatus(refusal))
  const content = await show!({
    subject,
    request,
    csrf: reply.generateCsrf(),
    once: createIdempotencyToken(),
    mayChange: request.member.role !== 'viewer',
    error: refusal && toFormError(refusal),
    ...refusal !== undefined && { typed: name => readField(request.body, name) }
  })
  return await reply.page(
    typeof title === 'function' ? title(subject) : title ?? '', content, await facts?.(subject, request)
  )
}

async function runAction<Subject> (
  { declared, action }: { readonly declared: DeclaredPage<Subject>, readonly action: Action<Subject> },
  request: PageRequest,
  reply: FastifyReply
): Promise<FastifyReply> {
  const { role = 'admin', redisplayOn, run } = action
  const subject = await loadSubject(declared, request, role)
  return await redisplayOnError(
    async () => await end(await run(request, subject), reply),
    async refusal => {
      if (redisplayOn === undefined || (redisplayOn === 'invalid' && refusal.reason === 'conflict')) throw refusal
      return await render({ declared, subject: await loadSubject(declared, request), refusal }, request, reply)
    }
  )
}

async function end (outcome: Outcome, reply: FastifyReply): Promise<FastifyReply> {
  if ('to' in outcome) return reply.done(outcome.to, outcome.message)
  return await reply.code(201).page(outcome.title, outcome.content, outcome.facts)
}
