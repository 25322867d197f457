import type { Key } from '../../store/keys.js'
import { Heading, OptionalTime } from '../components.js'
import { PostForm, RadioField, SubmitButton, type RadioOption } from '../forms.js'
import { keyPath } from '../paths.js'

const hourMs = 3_600_000

/** How long an old key may stay valid next to the new one. */
export const overlaps: Readonly<
  Record<string, { readonly ms: number; readonly label: string; readonly hint: string }>
> = {
  now: { ms: 0, label: 'Now', hint: 'The old key is revoked at once. For a secret that has leaked.' },
  '1h': { ms: hourMs, label: 'In 1 hour', hint: 'Both keys work until then.' },
  '24h': { ms: 24 * hourMs, label: 'In 24 hours', hint: 'Both keys work until then.' },
  '7d': { ms: 7 * 24 * hourMs, label: 'In 7 days', hint: 'Both keys work until then.' }
}

const choices: readonly RadioOption[] = Object.entries(overlaps).map(([value, { label, hint }]) => ({
  value,
  label,
  hint
}))

/** The form that makes a key which follows another one. */
export function RollPage ({ csrf, shown: key }: { readonly csrf: string, readonly shown: Key }) {
  return (
    <>
      <Heading
        title={`Roll “${key.name}”`}
        about='Rolling creates a new key with the same name, mode and scopes, and ends the old one.'
      />
      <p>
        Last used: <OptionalTime at={key.lastUsedAt} otherwise='never' />
      </p>
      <PostForm action={keyPath(key.keyId, 'roll')} csrf={csrf}>
        <RadioField label='When the old key ends' name='overlap' choices={choices} value='24h' error={undefined} />
        <SubmitButton label='Roll key' cancel={keyPath(key.keyId)} />
      </PostForm>
    </>
  )
}
