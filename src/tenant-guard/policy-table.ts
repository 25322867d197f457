import { policy } from './policy.js'

/** The policy as the documentation prints it, a line for each interaction. */
export function policyTable (): string {
  const rows = Object.entries(policy).map(
    ([kind, { scopes, isolation }]) =>
      `| ${kind} | ${scopes === 'entries' ? 'as its entries' : scopes.join(', ')} | ${isolation} |`
  )
  return ["| interaction | needs | how one tenant is kept from another's records |", '|---|---|---|', ...rows].join(
    '\n'
  )
}
