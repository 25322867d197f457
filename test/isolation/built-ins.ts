const prototypes = {
  Object: Object.prototype,
  Array: Array.prototype,
  String: String.prototype,
  Number: Number.prototype,
  Boolean: Boolean.prototype,
  Function: Function.prototype
}

/** Every property name that an object, a list, a text, a number or a boolean inherits. */
export const inheritedNames: readonly string[] = [
  ...new Set(Object.values(prototypes).flatMap(prototype => Object.getOwnPropertyNames(prototype)))
]
  .filter(name => !/^\d+$/.test(name))
  .sort()

/**
 * What all tenants share in a process: the members of the language's own objects and of their functions. A change shows
 * in it.
 */
export function snapshotBuiltIns (): string {
  const functions = Object.entries(prototypes).flatMap(([name, prototype]) =>
    Object.entries(Object.getOwnPropertyDescriptors(prototype)).flatMap(([member, { value, get, set }]) =>
      [value, get, set].filter(part => typeof part === 'function').map(part => [`${name}.${member}`, part] as const)
    )
  )
  return JSON.stringify(
    [...Object.entries(prototypes), ...functions].map(([name, holder]) => [name, describeOwn(holder)])
  )
}

function describeOwn (holder: object): unknown {
  // What a strict function's own accessors throw away is no member of it.
  return Reflect.ownKeys(holder).map(key => [
    String(key),
    describeProperty(Object.getOwnPropertyDescriptor(holder, key))
  ])
}

function describeProperty (descriptor: PropertyDescriptor | undefined): unknown {
  const { value, get, set, ...flags } = descriptor ?? {}
  return [
    flags,
    ...[value, get, set].map(part =>
      typeof part === 'function'
        ? Function.prototype.toString.call(part)
        : typeof part === 'object'
          ? typeof part
          : part
    )
  ]
}
