import type { IterableInclude, SearchParameter } from '../interaction.js'

/** A way to other records as a search has it: `_revinclude:iterate=Observation:patient`. */
export function formatInclude ({ direction, type, parameter, target, iterate }: IterableInclude): SearchParameter {
  return [
    `_${direction}${iterate === true ? ':iterate' : ''}`,
    [type, parameter, ...(target === undefined ? [] : [target])].join(':')
  ]
}

/** The way that {@link formatInclude} wrote. */
export function parseInclude ([name, value]: SearchParameter): IterableInclude {
  const [type = '', parameter = '', target] = value.split(':')
  return {
    direction: name.startsWith('_rev') ? 'revinclude' : 'include',
    type,
    parameter,
    ...(target !== undefined && { target }),
    ...(name.endsWith(':iterate') && { iterate: true })
  }
}
