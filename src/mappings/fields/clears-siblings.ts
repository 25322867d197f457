import type { Element, ElementOptions } from '../core/element.js'
import { withAt } from '../core/path.js'

/**
 * A field whose change removes what stands at these paths: it is shown by no field, and told of the old value alone.
 */
export function clearsSiblings<T, O extends ElementOptions> (
  paths: readonly string[],
  element: Element<T, O>
): Element<T, O> {
  return {
    ...element,
    write (holder, value) {
      const after = element.write(holder, value)
      return after === holder ? holder : paths.reduce((rest, path) => withAt(rest, path, undefined), after)
    }
  }
}
