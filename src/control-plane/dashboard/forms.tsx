import type { PropsWithChildren } from '@kitajs/html'
import { maxEmailLength } from '../store/members.js'
import type { FormError } from './form.js'

/**
 * A form that is sent by POST; `csrf` is the session's token, `once` a text that makes a second sending of the same
 * form known.
 */
export function PostForm ({
  action,
  csrf,
  once,
  inline = false,
  children
}: PropsWithChildren<{
  readonly action: string
  readonly csrf: string
  readonly once?: string
  readonly inline?: boolean
}>) {
  return (
    <form method='post' action={action} class={inline ? 'inline' : 'stacked'}>
      <input type='hidden' name='_csrf' value={csrf} />
      {once === undefined ? '' : <input type='hidden' name='once' value={once} />}
      {children}
    </form>
  )
}

interface FieldProps {
  readonly label: string
  readonly name: string
  readonly hint?: string
  /** The form's error; its field is marked. Required, so that every form passes it. */
  readonly error: FormError | undefined
}

interface TextFieldProps extends FieldProps {
  readonly type?: 'text' | 'email' | 'date'
  readonly value?: string
  readonly isRequired?: boolean
  readonly maxLength?: number
  readonly min?: string
  readonly autocomplete?: 'off' | 'username' | 'name'
}

/** A labelled line of text. */
export function TextField ({
  type = 'text',
  value = '',
  isRequired = false,
  maxLength,
  min,
  autocomplete = 'off',
  ...field
}: TextFieldProps) {
  const { name } = field
  return (
    <Labelled {...field}>
      <input
        id={name}
        name={name}
        type={type}
        value={value}
        required={isRequired}
        maxlength={maxLength}
        min={min}
        autocomplete={autocomplete}
        {...toAriaAttributes(field)}
      />
    </Labelled>
  )
}

interface NameFieldProps extends Pick<TextFieldProps, 'value' | 'hint' | 'autocomplete' | 'error'> {
  readonly label?: string
}

/** The name of an organization, key, token or person. */
export function NameField ({ label = 'Name', ...field }: NameFieldProps) {
  return <TextField label={label} name='name' isRequired maxLength={200} {...field} />
}

/** The email address of a person. */
export function EmailField (field: Pick<TextFieldProps, 'value' | 'hint' | 'autocomplete' | 'error'>) {
  return <TextField label='Email' name='email' type='email' isRequired maxLength={maxEmailLength} {...field} />
}

/** The optional last day of a key or token. */
export function LastDayField ({ now, value, error }: Pick<TextFieldProps, 'value' | 'error'> & { readonly now: Date }) {
  return (
    <TextField
      label='Last day (optional)'
      name='lastDay'
      type='date'
      value={value}
      min={now.toISOString().slice(0, 10)}
      hint='It works until the end of this day (UTC). Without a last day it works until you revoke it.'
      error={error}
    />
  )
}

interface PasswordFieldProps extends FieldProps {
  /** Whether a password manager may fill it in or should offer a new one. */
  readonly kind: 'current-password' | 'new-password'
}

/** A labelled field for a password, which is never sent back to the browser. */
export function PasswordField ({ kind, ...field }: PasswordFieldProps) {
  const { name } = field
  return (
    <Labelled {...field}>
      <input
        id={name}
        name={name}
        type='password'
        required
        autocomplete={kind}
        minlength={kind === 'new-password' ? 12 : undefined}
        maxlength={200}
        {...toAriaAttributes(field)}
      />
    </Labelled>
  )
}

/** The hint at every field for a new password. */
export const passwordHint = 'At least 12 characters. A sentence works well.'

/** One of the things that may be chosen. */
export interface RadioOption {
  readonly value: string
  readonly label: string
  readonly hint?: string
}

interface ChoiceProps extends FieldProps {
  readonly choices: readonly RadioOption[]
  readonly value?: string
}

/** A choice from a list that is folded up. */
export function SelectField ({ choices, value, ...field }: ChoiceProps) {
  const { name } = field
  return (
    <Labelled {...field}>
      <select id={name} name={name} {...toAriaAttributes(field)}>
        {choices.map(choice => (
          <option value={choice.value} selected={choice.value === value} safe>
            {choice.label}
          </option>
        ))}
      </select>
    </Labelled>
  )
}

/** A choice between a few things that each need a word of explanation. */
export function RadioField ({ choices, value = choices[0]?.value, ...field }: ChoiceProps) {
  const { label, name } = field
  return (
    <fieldset class='field' aria-describedby={toAriaAttributes(field)['aria-describedby']}>
      <legend safe>{label}</legend>
      <FieldError {...field} />
      {choices.map((choice, at) => (
        <Radio id={at === 0 ? name : undefined} name={name} choice={choice} isChosen={choice.value === value} />
      ))}
    </fieldset>
  )
}

function Radio ({
  id,
  name,
  choice,
  isChosen
}: {
  readonly id: string | undefined
  readonly name: string
  readonly choice: RadioOption
  readonly isChosen: boolean
}) {
  return (
    <label class='choice'>
      <input id={id} type='radio' name={name} value={choice.value} checked={isChosen} />
      <span>
        <span class='choice-label' safe>{choice.label}</span>
        {choice.hint === undefined
          ? ''
          : <span class='hint' safe>{choice.hint}</span>}
      </span>
    </label>
  )
}

/** The label of a field, and its error and hint, which screen readers read with the field. */
function Labelled ({ children, ...field }: PropsWithChildren<FieldProps>) {
  const { label, name, hint } = field
  return (
    <div class='field'>
      <label for={name} safe>{label}</label>
      {children}
      <FieldError {...field} />
      {hint === undefined ? '' : <p class='hint' id={`${name}-hint`} safe>{hint}</p>}
    </div>
  )
}

function FieldError ({ name, error }: FieldProps) {
  return error?.field === name ? <p class='field-trouble' id={`${name}-trouble`} safe>{error.message}</p> : ''
}

function toAriaAttributes ({ name, hint, error }: FieldProps): {
  readonly 'aria-describedby'?: string
  readonly 'aria-invalid'?: 'true'
} {
  const isWrong = error?.field === name
  const ids = [...(isWrong ? [`${name}-trouble`] : []), ...(hint === undefined ? [] : [`${name}-hint`])]
  return {
    ...(ids.length === 0 ? {} : { 'aria-describedby': ids.join(' ') }),
    ...(isWrong ? { 'aria-invalid': 'true' } : {})
  }
}

/** The button that sends a form, and the link back. */
export function SubmitButton ({
  label,
  cancel,
  isDangerous = false
}: {
  readonly label: string
  readonly cancel?: string
  readonly isDangerous?: boolean
}) {
  return (
    <div class='actions'>
      <button type='submit' class={isDangerous ? 'button button-danger' : 'button button-primary'} safe>
        {label}
      </button>
      {cancel === undefined
        ? ''
        : <a class='button' href={cancel}>Cancel</a>}
    </div>
  )
}
