import type { PropsWithChildren } from '@kitajs/html'
import type { FormError } from './form.js'

/** A time: in UTC until the script shows it in the reader's zone, with the exact time on hover. `at` is ISO 8601. */
export function Time ({ at }: { readonly at: string }) {
  return <time datetime={at} title={formatExactTime(at)} safe>{formatTime(at)}</time>
}

/** A time as text, for where an element is not possible. `at` is ISO 8601. */
export function formatTime (at: string): string {
  return `${at.slice(0, 10)} ${at.slice(11, 16)} UTC`
}

/** A time, or `otherwise` if there is none. */
export function OptionalTime ({ at, otherwise }: { readonly at: string | undefined, readonly otherwise: string }) {
  return at === undefined ? <span class='quiet' safe>{otherwise}</span> : <Time at={at} />
}

function formatExactTime (at: string): string {
  return `${at.slice(0, 10)} ${at.slice(11, 23).replace(/Z$/, '')} UTC`
}

/** The meaning of a badge, which determines its colour; the text of the badge expresses it as well. */
export type Tone = 'good' | 'warning' | 'bad' | 'neutral' | 'live' | 'test'

/** A short state in a word or two. */
export function Badge ({ tone, text }: { readonly tone: Tone, readonly text: string }) {
  return <span class={`badge badge-${tone}`} safe>{text}</span>
}

/** The heading of a page, with the page's actions. */
export function Heading ({
  title,
  about,
  children
}: PropsWithChildren<{ readonly title: string; readonly about?: string }>) {
  return (
    <header class='page-heading'>
      <div>
        <h1 safe>{title}</h1>
        {about === undefined
          ? ''
          : <p class='quiet' safe>{about}</p>}
      </div>
      <div class='actions'>{children}</div>
    </header>
  )
}

/** The text in place of an empty list, with the next step. */
export function Empty ({ title, children }: PropsWithChildren<{ readonly title: string }>) {
  return <section class='empty'><h2 safe>{title}</h2>{children}</section>
}

/** A column of a {@link Table}. */
interface Column<T> {
  readonly name: string
  readonly kind?: 'number' | 'long'
  /** The content of the cell of a row: an element, since texts outside of elements are not escaped. */
  readonly cell: (row: T) => JSX.Element
}

/** The columns of a table; false for one that the reader does not get. */
export type Columns<T> = ReadonlyArray<Column<T> | false>

/** A table that becomes a list of cards where the screen is narrow. */
export function Table<T> ({
  label,
  columns: all,
  rows
}: {
  readonly label: string
  readonly columns: Columns<T>
  readonly rows: readonly T[]
}) {
  const columns = all.filter(column => column !== false)
  return (
    <table class='records' role='table' aria-label={label}>
      <thead role='rowgroup'>
        <tr role='row'>
          {columns.map(({ name }) => <th role='columnheader' scope='col' safe>{name}</th>)}
        </tr>
      </thead>
      <tbody role='rowgroup'>
        {rows.map(row => (
          <tr role='row'>
            {columns.map(({ name, kind, cell }) => <td role='cell' data-label={name} class={kind}>{cell(row)}</td>)}
          </tr>
        ))}
      </tbody>
    </table>
  )
}

/** The actions of a row. */
export function Links ({ children }: PropsWithChildren) {
  return <div class='links'>{children}</div>
}

/** A text that one press copies; the button appears where there is a script. */
export function Copyable ({ text, label }: { readonly text: string, readonly label: string }) {
  return (
    <span class='copyable'>
      <code safe>{text}</code>
      <button type='button' class='copy' data-copy={text} aria-label={`Copy ${label}`} hidden>Copy</button>
    </span>
  )
}

interface SecretProps {
  readonly text: string
  /** The name of the secret, such as `the secret`. */
  readonly label: string
}

/**
 * A secret that is shown once, between the warning to copy it now and the link to `next` for a reader who has copied
 * it. `children` follow the secret.
 */
export function ShownOnce ({
  heading,
  risk = '',
  next,
  children,
  ...secret
}: PropsWithChildren<SecretProps & { readonly heading?: string, readonly risk?: string, readonly next: string }>) {
  return (
    <>
      <section class='notice notice-warning'>
        <p>
          <strong safe>{`Copy ${secret.label} now.`}</strong> It is shown only here, only once. <span safe>{risk}</span>
        </p>
      </section>
      <section>
        {heading === undefined ? '' : <h2 safe>{heading}</h2>}
        <Secret {...secret} />
      </section>
      {children}
      <p>
        <a class='button' href={next}>I have copied it</a>
      </p>
    </>
  )
}

/** A secret, shown only once: the script copies it, and removes it from the page when the reader leaves the page. */
export function Secret ({ text, label }: SecretProps) {
  return (
    <div class='secret' data-secret>
      <code safe>{text}</code>
      <button type='button' class='copy' data-copy={text} aria-label={`Copy ${label}`} hidden>Copy</button>
    </div>
  )
}

/** An entry of a description list, inside a `dl`. */
export function DescriptionItem ({ name, children }: PropsWithChildren<{ readonly name: string }>) {
  return <div><dt safe>{name}</dt><dd>{children}</dd></div>
}

/** The error of a form that is shown again, as a link to the field that it is about. */
export function ErrorNotice ({ error }: { readonly error: FormError | undefined }) {
  if (error === undefined) return ''
  const { message, field } = error
  return (
    <p class='notice notice-bad' role='alert' {...focused}>
      {field === undefined
        ? <span safe>{message}</span>
        : <a href={`#${field}`} safe>{message}</a>}
    </p>
  )
}

/** The result of the previous page's action; `tone` is whether it succeeded. */
export function FlashMessage ({
  message,
  tone
}: {
  readonly message: string | undefined
  readonly tone: 'good' | 'neutral'
}) {
  return message === undefined
    ? ''
    : <p class={`notice notice-${tone}`} role='status' {...focused} safe>{message}</p>
}

/**
 * Focuses the message at the start of a page: screen readers then read it, which they do not with text that is there
 * from the start.
 */
const focused = { tabindex: '-1', autofocus: true }
