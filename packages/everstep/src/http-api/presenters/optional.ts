/** A property that is left out when there is nothing to say. */
export function optional<Name extends string, Value>(name: Name, value: Value | null | undefined): { [N in Name]?: Value } {
  const absent: { [N in Name]?: Value } = {};
  return value === null || value === undefined ? absent : { ...absent, [name]: value };
}
