import { isElement } from '../core/path.js'
import type { InputNormalizer } from '../core/mapping.js'

/**
 * The one policy without an authority among those that were sent, as the `policyUri` that it is shown as. Several of
 * them, or one next to a `policyUri`, stay where they are and are refused there.
 */
export const policyUri: InputNormalizer = (sent, emptied) => {
  const { policies = [], ...others } = sent
  const all = [policies].flat()
  const [separate, ...more] = all.filter(hasUriAlone)
  if (separate === undefined || more.length > 0 || Object.hasOwn(sent, 'policyUri')) return sent
  const rest = all.filter(policy => policy !== separate)
  const left = rest.length > 0 ? rest : emptied
  return { ...others, policyUri: separate.uri, ...left !== undefined && { policies: left } }
}

const hasUriAlone = (policy: unknown): policy is { readonly uri: unknown } =>
  isElement(policy) && Object.keys(policy).join() === 'uri'
