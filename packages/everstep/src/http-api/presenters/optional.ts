/** Returns an object with the property, or an empty object when the value is null or undefined. */
export function optional<Name extends string, Value>(name: Name, value: Value | null | undefined): { [N in Name]?: Value } {
  const absent: { [N in Name]?: Value } = {};
  return value === null || value === undefined ? absent : { ...absent, [name]: value };
}
