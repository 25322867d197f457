import { parameterOf } from '../../mappings/r4/search-parameters.js'
import type { Include } from '../interaction.js'
import { mayRead, type TenantContext } from '../tenant-context.js'

/** The includes of a search that a key may follow, and the types that it may not read, `Resource` for any. */
interface OpenIncludes<I extends Include> {
  readonly followed: readonly I[]
  /** By the request alone, whatever is stored, so that it reveals nothing. */
  readonly closedTypes: readonly string[]
}

/**
 * The includes without those that lead only to records that the key may not read, or through such records. What the
 * others bring of such types is left out of the response.
 */
export function openIncludes<I extends Include> (context: TenantContext, includes: readonly I[]): OpenIncludes<I> {
  if (context.access === undefined) return { followed: includes, closedTypes: [] }
  const isClosed = (type: string): boolean => !mayRead(context, type)
  const isFollowed = (include: I): boolean =>
    !isClosed(include.type) && (targetsOf(include)?.some(type => !isClosed(type)) ?? true)
  const closed = includes.flatMap(include => [include.type, ...targetsOf(include) ?? ['Resource']]).filter(isClosed)
  return { followed: includes.filter(isFollowed), closedTypes: [...new Set(closed)] }
}

/** The types of the records that an include adds; undefined where R4 lets them be of any. */
function targetsOf ({ direction, type, parameter, target }: Include): readonly string[] | undefined {
  if (direction === 'revinclude') return [type]
  return target === undefined ? parameterOf(type, parameter)?.targets : [target]
}

/** The warning for types that were left out; undefined when there are none. */
export function closedTypesNote (types: readonly string[]): string | undefined {
  if (types.length === 0) return undefined
  return `This key may not read records of these types, so none are included: ${types.join(', ')}.`
}
