import { personOf } from './labels.js'

/** Who did something; beneath a member the id, which tells people with the same address apart. */
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
