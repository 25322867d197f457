import type { PropsWithChildren } from '@kitajs/html'

/** A form that is sent by POST; `csrf` is the session's token, `once` a text that makes a second sending of the same form known. */
export function PostForm ({ action, csrf, once, inline = false, children }: PropsWithChildren<{ readonly action: string, readonly csrf: string, readonly once?: string, readonly inline?: boolean }>) {
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
}

interface TextFieldProps extends FieldProps {
  readonly type?: 'text' | 'email' | 'date'
  readonly value?: string
  readonly isRequired?: boolean
  readonly maxLength?: number
  readonly min?: string
  readonly autocomplete?: 'off' | 'username' | 'name'
}

/** A labelled line of text, with a hint that screen readers read along. */
export function TextField ({ label, name, hint, type = 'text', value = '', isRequired = false, maxLength, min, autocomplete = 'off' }: TextFieldProps) {
  return (
    <div class='field'>
      <label for={name} safe>{label}</label>
      <input id={name} name={name} type={type} value={value} required={isRequired} maxlength={maxLength} min={min} autocomplete={autocomplete} {...describedBy(name, hint)} />
      <Hint name={name} hint={hint} />
    </div>
  )
}

/** One of the things that may be chosen. */
export interface Choice {
  readonly value: string
  readonly label: string
  readonly hint?: string
}

interface ChoiceProps extends FieldProps {
  readonly choices: readonly Choice[]
  readonly value?: string
}

/** A choice from a list that is folded up. */
export function SelectField ({ label, name, hint, choices, value }: ChoiceProps) {
  return (
    <div class='field'>
      <label for={name} safe>{label}</label>
      <select id={name} name={name} {...describedBy(name, hint)}>
        {choices.map(choice => <option value={choice.value} selected={choice.value === value} safe>{choice.label}</option>)}
      </select>
      <Hint name={name} hint={hint} />
    </div>
  )
}

/** A choice between a few things that each need a word of explanation. */
export function RadioField ({ label, name, choices, value = choices[0]?.value }: ChoiceProps) {
  return (
    <fieldset class='field'>
      <legend safe>{label}</legend>
      {choices.map(choice => <Radio name={name} choice={choice} isChosen={choice.value === value} />)}
    </fieldset>
  )
}

function Radio ({ name, choice, isChosen }: { readonly name: string, readonly choice: Choice, readonly isChosen: boolean }) {
  return (
    <label class='choice'>
      <input type='radio' name={name} value={choice.value} checked={isChosen} />
      <span>
        <span class='choice-label' safe>{choice.label}</span>
        {choice.hint === undefined ? '' : <span class='hint' safe>{choice.hint}</span>}
      </span>
    </label>
  )
}

function Hint ({ name, hint }: { readonly name: string, readonly hint: string | undefined }) {
  return hint === undefined ? '' : <p class='hint' id={`${name}-hint`} safe>{hint}</p>
}

function describedBy (name: string, hint: string | undefined): { readonly 'aria-describedby'?: string } {
  return hint === undefined ? {} : { 'aria-describedby': `${name}-hint` }
}

/** The button that sends a form, and the way back. */
export function Send ({ label, cancel, isDangerous = false }: { readonly label: string, readonly cancel?: string, readonly isDangerous?: boolean }) {
  return (
    <div class='actions'>
      <button type='submit' class={isDangerous ? 'button button-danger' : 'button button-primary'} safe>{label}</button>
      {cancel === undefined ? '' : <a class='button' href={cancel}>Cancel</a>}
    </div>
  )
}
