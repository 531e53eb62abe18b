import { Fault } from '../../base/fault.ts';
import { printable } from '../../base/printable.ts';

/** Variables by name, from the environment, or by name and value if the value is not a secret. */
export function variables(words: readonly string[], mayHaveValue: boolean): Record<string, string> {
  return Object.fromEntries(
    words.map(word => {
      const [name = '', ...rest] = word.split('=');
      if (rest.length > 0) {
        if (mayHaveValue) return [name, rest.join('=')];
        throw new Fault(
          'usage',
          `Give only the name, --secret ${printable(name)}: other users can read a value on the command line.`,
        );
      }
      const value = process.env[name];
      if (value === undefined) throw new Fault('usage', `The environment variable ${printable(name)} is not set.`);
      return [name, value];
    }),
  );
}

/** The signing key that the environment names, if any. */
export function namedKey(): { readonly signingKey?: string } {
  const file = process.env['PROCTOR_KEY'];
  return file === undefined ? {} : { signingKey: file };
}
