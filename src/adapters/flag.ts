/** A flag and its value, or nothing if the value is undefined. */
export function flag(name: string, value: string | number | undefined): readonly string[] {
  return value === undefined ? [] : [name, String(value)];
}
