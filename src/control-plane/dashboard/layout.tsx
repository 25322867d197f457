import type { PropsWithChildren } from '@kitajs/html'
import type { Member } from '../store/members.js'
import { assetPath } from './assets.js'
import { FlashMessage } from './components.js'
import { accountPath, home, organizationPath, signOutPath } from './paths.js'

/** The organization that a page is about. */
export interface PageOrganization { readonly tenantId: string, readonly name: string }

/** A page, and its reader. */
interface LayoutProps {
  readonly title: string
  readonly content: string
  /** The path of the page, to mark the link to it. */
  readonly path: string
  /** The signed-in member, with the token for the form that signs out; absent on pages that need no sign-in. */
  readonly viewer?: { readonly member: Member, readonly csrf: string }
  readonly organization?: PageOrganization
  /** The result of the previous page's action. */
  readonly notice?: string
}

interface Link { readonly href: string, readonly text: string }

/** A complete page: the frame around its content. `content` is markup, escaped where it was made. */
export function Layout ({ title, content: safeContent, path, viewer, organization, notice }: LayoutProps) {
  return (
    <>
      {'<!doctype html>'}
      <html lang='en'>
        <head>
          <meta charset='utf-8' />
          <meta name='viewport' content='width=device-width, initial-scale=1' />
          <meta name='color-scheme' content='light dark' />
          <title safe>
            {[title, ...(organization === undefined ? [] : [organization.name]), 'clinigate'].join(' · ')}
          </title>
          <link rel='stylesheet' href={assetPath('dashboard.css')} />
          <link rel='icon' href='data:,' />
          <script type='module' src={assetPath('dashboard.js')} />
        </head>
        <body data-member={viewer?.member.memberId}>
          <a class='skip' href='#content'>Skip to content</a>
          {viewer === undefined ? <PlainTop /> : <Top viewer={viewer} path={path} organization={organization} />}
          {viewer?.member.role === 'operator' && organization !== undefined
            ? <OrganizationBar organization={organization} path={path} />
            : ''}
          <main id='content' class={viewer === undefined ? 'narrow' : undefined} tabindex='-1'>
            <FlashMessage message={notice} tone={viewer === undefined ? 'neutral' : 'good'} />
            {safeContent}
          </main>
        </body>
      </html>
    </>
  )
}

/** The pages of the service, for operators. */
const operatorLinks: readonly Link[] = [
  { href: `${home}/organizations`, text: 'Organizations' },
  { href: `${home}/gateways`, text: 'Gateways' },
  { href: `${home}/operators`, text: 'Operators' },
  { href: `${home}/tokens`, text: 'Tokens' },
  { href: `${home}/audit`, text: 'Audit trail' }
]

const buildOrganizationLinks = (tenantId: string): readonly Link[] => [
  { href: organizationPath(tenantId), text: 'Overview' },
  { href: organizationPath(tenantId, 'keys'), text: 'Keys' },
  { href: organizationPath(tenantId, 'members'), text: 'Members' },
  { href: organizationPath(tenantId, 'tokens'), text: 'Tokens' },
  { href: organizationPath(tenantId, 'webhooks'), text: 'Webhooks' },
  { href: organizationPath(tenantId, 'usage'), text: 'Usage' },
  { href: organizationPath(tenantId, 'audit'), text: 'Audit trail' }
]

function PlainTop () {
  return <header class='top'><div class='bar'><span class='brand'>clinigate</span></div></header>
}

interface TopProps extends Pick<LayoutProps, 'path' | 'organization'> {
  readonly viewer: NonNullable<LayoutProps['viewer']>
}

/**
 * People of one organization see its name here, for they may belong to others too; operators see it in a bar of its
 * own.
 */
function Top ({ viewer: { member, csrf }, path, organization }: TopProps) {
  const links = member.tenantId === undefined ? operatorLinks : buildOrganizationLinks(member.tenantId)
  return (
    <header class='top'>
      <div class='bar'>
        <a class='brand' href={home}>clinigate</a>
        <div class='who'>
          <a href={accountPath()} aria-current={path === accountPath() ? 'page' : undefined} safe>
            {member.name}
          </a>
          <form method='post' action={signOutPath}>
            <input type='hidden' name='_csrf' value={csrf} />
            <button type='submit' class='button button-quiet'>Sign out</button>
          </form>
        </div>
      </div>
      {member.mustChangePassword
        ? ''
        : (
          <Links label='Main' links={links} path={path}>
            {member.tenantId === undefined ? '' : <OrganizationName organization={organization} />}
          </Links>
          )}
    </header>
  )
}

function OrganizationName ({ organization }: Pick<LayoutProps, 'organization'>) {
  return organization === undefined ? '' : <p class='organization-name' safe>{organization.name}</p>
}

function OrganizationBar ({ organization, path }: { readonly organization: PageOrganization, readonly path: string }) {
  return (
    <div class='organization-bar'>
      <Links label='Organization' links={buildOrganizationLinks(organization.tenantId)} path={path}>
        <OrganizationName organization={organization} />
      </Links>
    </div>
  )
}

function Links ({
  label,
  links,
  path,
  children
}: PropsWithChildren<{ readonly label: string; readonly links: readonly Link[]; readonly path: string }>) {
  const current = findCurrentLink(links, path)
  return (
    <nav aria-label={label}>
      {children}
      <ul>
        {links.map(({ href, text }) => (
          <li>
            <a href={href} aria-current={href === current ? 'page' : undefined} safe>{text}</a>
          </li>
        ))}
      </ul>
    </nav>
  )
}

/** The longest link that leads to the page or to one above it. */
function findCurrentLink (links: readonly Link[], path: string): string | undefined {
  return links
    .map(({ href }) => href)
    .filter(href => `${path}/`.startsWith(`${href}/`))
    .sort((a, b) => b.length - a.length)[0]
}
