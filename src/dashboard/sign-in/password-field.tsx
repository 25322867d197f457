interface PasswordFieldProps {
  readonly label: string
  readonly name: string
  /** Whether a password manager may fill it in or should offer a new one. */
  readonly kind: 'current-password' | 'new-password'
  readonly hint?: string
}

/** A labelled field for a password, which is never sent back to the browser. */
export function PasswordField ({ label, name, kind, hint }: PasswordFieldProps) {
  const isNew = kind === 'new-password'
  return (
    <div class='field'>
      <label for={name} safe>{label}</label>
      <input id={name} name={name} type='password' required autocomplete={kind} minlength={isNew ? 12 : undefined} maxlength={200} aria-describedby={hint && `${name}-hint`} />
      {hint === undefined ? '' : <p class='hint' id={`${name}-hint`} safe>{hint}</p>}
    </div>
  )
}

/** What is said of every new password. */
export const passwordHint = 'At least 12 characters. A sentence works well.'
