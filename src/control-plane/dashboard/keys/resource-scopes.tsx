import type { Effect, Scope } from '../../../keys/caller.js'
import { mappings } from '../../../mappings/registry.js'
import { field, fieldValues } from '../form.js'

/** The choice of single resources in the form of a new key. */
export interface ResourceChoice {
  readonly read: readonly string[]
  readonly write: readonly string[]
  /** Whether the key may use the same resources as raw FHIR. */
  readonly isRaw: boolean
}

/** The value of the field `scopes` with which the chosen resources count. */
export const chosenResources = 'chosen'

const paths = mappings.map(({ path }) => path).sort()
const effects = [['read', 'Read'], ['write', 'Write']] as const

/** The choice that was sent. */
export function resourceChoiceIn (body: unknown): ResourceChoice {
  return {
    read: fieldValues(body, 'read'),
    write: fieldValues(body, 'write'),
    isRaw: fieldValues(body, 'raw').length > 0
  }
}

/** The scopes that a form requests; what it does not offer is left as it is, for the control plane to refuse. */
export function scopesIn (body: unknown): Scope[] {
  const choice = field(body, 'scopes')
  return choice === chosenResources ? scopesOf(resourceChoiceIn(body)) : [choice as Scope]
}

function scopesOf ({ read, write, isRaw }: ResourceChoice): Scope[] {
  const typeOf = (path: string): string => mappings.find(mapping => mapping.path === path)?.type ?? path
  const toScope = (effect: Effect) => (path: string): Scope => `${isRaw ? `fhir/${typeOf(path)}` : path}:${effect}`
  return [...read.map(toScope('read')), ...write.map(toScope('write'))]
}

/** A checkbox for each resource and effect. They show when their radio button is chosen, and count only then. */
export function ResourceScopes ({ choice }: { readonly choice: ResourceChoice | undefined }) {
  return (
    <fieldset class='field resource-scopes'>
      <legend>Resources</legend>
      <p class='hint'>They count only with the choice “Only some resources”.</p>
      <label class='choice'>
        <input type='checkbox' name='raw' value='yes' checked={choice?.isRaw === true} />
        <span>
          <span class='choice-label'>Also as raw FHIR</span>
          <span class='hint'>Below /v1/fhir, where a record shows all of its elements.</span>
        </span>
      </label>
      <ul>
        {paths.map(path => (
          <li>
            <code safe>{path}</code>
            {effects.map(([effect, label]) => (
              <label>
                <input
                  type='checkbox'
                  name={effect}
                  value={path}
                  checked={choice?.[effect].includes(path) === true}
                  aria-label={`${label} ${path}`}
                />
                <span aria-hidden='true'>{label}</span>
              </label>
            ))}
          </li>
        ))}
      </ul>
    </fieldset>
  )
}
