import { personOf } from './labels.js'

/** The actor; below a member also the id, which distinguishes people with the same address. */
export function ActorName ({ actor }: { readonly actor: string }) {
  const { text, memberId } = personOf(actor)
  return (
    <span>
      <span safe>{text}</span>
      {memberId === undefined
        ? (
            ''
          )
        : (
          <>
            {' '}
            <span class='beneath' safe>
              {memberId}
            </span>
          </>
          )}
    </span>
  )
}
