/** Returns an object with the property, or an empty object when the value is null or undefined. */
export function optional<Name extends string, Value>(name: Name, value: Value | null | undefined): { [N in Name]?: Value } {
  const empty: { [N in Name]?: Value } = {};
  return value === null || value === undefined ? empty : { ...empty, [name]: value };
}
