import { datatype, type Datatype } from '../core/datatype.js'

/**
 * A structure in which R4 requires a part that clients may leave out: it is filled in whenever the structure is
 * written.
 */
export function withDefault<T extends object> ({ codec }: Datatype<T>, defaults: Partial<T>): Datatype<T> {
  const full = (value: T): T => ({ ...defaults, ...value })
  return datatype<T>({
    ...codec,
    accept: value => codec.accept?.(full(value)) ?? full(value),
    write: (value, before) => codec.write(full(value), before)
  })
}
