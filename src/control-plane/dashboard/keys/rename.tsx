import type { Key } from '../../store/keys.js'
import { Heading, ErrorNotice } from '../components.js'
import type { FormError } from '../form.js'
import { PostForm, SubmitButton, TextField } from '../forms.js'
import { keyPath } from '../paths.js'

interface RenameForm {
  readonly csrf: string
  readonly shown: Key
  /** The text from the previous submission. */
  readonly name?: string
  readonly error?: FormError
}

/** The form that renames a key. */
export function RenamePage ({ csrf, shown: key, name = key.name, error }: RenameForm) {
  return (
    <>
      <Heading title={`Rename “${key.name}”`} about='Its secret stays the same, and applications notice nothing.' />
      <ErrorNotice error={error} />
      <PostForm action={keyPath(key.keyId, 'rename')} csrf={csrf}>
        <TextField label='Name' name='name' value={name} isRequired maxLength={200} error={error} />
        <SubmitButton label='Rename key' cancel={keyPath(key.keyId)} />
      </PostForm>
    </>
  )
}
