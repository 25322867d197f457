import type { Effect, Scope } from '../../../keys/caller.js'
import { mappings } from '../../../mappings/registry.js'
import { readField, readFieldValues, type FormError } from '../form.js'
import { Heading, ErrorNotice } from '../components.js'
import { LastDayField, NameField, PostForm, RadioField, SubmitButton, type RadioOption } from '../forms.js'
import { organizationPath } from '../paths.js'

/** The choice of single resources in the form of a new key. */
interface ResourceChoice {
  readonly read: readonly string[]
  readonly write: readonly string[]
  /** Whether the key may use the same resources as raw FHIR. */
  readonly isRaw: boolean
}

/** The value of the field `scopes` with which the chosen resources count. */
const chosenResources = 'chosen'

const paths = mappings.map(({ path }) => path).sort()
const effects = [['read', 'Read'], ['write', 'Write']] as const

/** The choice that was sent. */
export function readResourceChoice (body: unknown): ResourceChoice {
  return {
    read: readFieldValues(body, 'read'),
    write: readFieldValues(body, 'write'),
    isRaw: readFieldValues(body, 'raw').length > 0
  }
}

/**
 * The scopes that a form requests. A scope that the form does not offer is passed on unchanged; the control plane
 * rejects it.
 */
export function readScopes (body: unknown): Scope[] {
  const choice = readField(body, 'scopes')
  return choice === chosenResources ? toScopes(readResourceChoice(body)) : [choice as Scope]
}

function toScopes ({ read, write, isRaw }: ResourceChoice): Scope[] {
  const toResourceType = (path: string): string => mappings.find(mapping => mapping.path === path)?.type ?? path
  const toScope = (effect: Effect) => (path: string): Scope => `${isRaw ? `fhir/${toResourceType(path)}` : path}:${effect}`
  return [...read.map(toScope('read')), ...write.map(toScope('write'))]
}

/** A checkbox for each resource and effect. They show when their radio button is chosen, and count only then. */
function ResourceScopes ({ choice }: { readonly choice: ResourceChoice | undefined }) {
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

/** The values of the form of a new key. */
interface NewKeyForm {
  readonly csrf: string
  readonly once: string
  readonly tenantId: string
  readonly now: Date
  readonly name?: string
  readonly mode?: string
  readonly scopes?: string
  readonly resources?: ResourceChoice
  readonly lastDay?: string
  readonly error?: FormError
}

const modes: readonly RadioOption[] = [
  { value: 'test', label: 'Test', hint: 'For development. Opens the test datastore, never real records.' },
  { value: 'live', label: 'Live', hint: 'Opens the records of real people.' }
]

const scopes: readonly RadioOption[] = [
  { value: '*', label: 'Read and write' },
  { value: 'read', label: 'Read only' },
  { value: 'write', label: 'Write only' },
  { value: chosenResources, label: 'Only some resources', hint: 'Choose below what it may read and write.' }
]

/** The form that makes a key. */
export function NewKeyPage (form: NewKeyForm) {
  const { csrf, once, tenantId, now, name, mode, scopes: chosen, resources, lastDay, error } = form
  return (
    <>
      <Heading title='New key' />
      <ErrorNotice error={error} />
      <PostForm action={organizationPath(tenantId, 'keys/new')} csrf={csrf} once={once}>
        <NameField
          value={name}
          hint='The application that will use it, such as “intake form”. Give each application its own key.'
          error={error}
        />
        <RadioField label='Mode' name='mode' choices={modes} value={mode} error={error} />
        <RadioField label='Scopes' name='scopes' choices={scopes} value={chosen} error={error} />
        <ResourceScopes choice={resources} />
        <LastDayField now={now} value={lastDay} error={error} />
        <SubmitButton label='Create key' cancel={organizationPath(tenantId, 'keys')} />
      </PostForm>
    </>
  )
}
