import { Fault } from '../base/fault.ts';
import { printable } from '../base/printable.ts';

/** Variables by name, out of our own environment; or by name and value, where the value is no secret. */
export function variables(words: readonly string[], mayHaveValue: boolean): Record<string, string> {
  return Object.fromEntries(
    words.map(word => {
      const [name = '', ...rest] = word.split('=');
      if (rest.length > 0) {
        if (mayHaveValue) return [name, rest.join('=')];
        throw new Fault(
          'usage',
          `--secret takes only the name ${printable(name)}: a value on the command line is no secret.`,
        );
      }
      const value = process.env[name];
      if (value === undefined) throw new Fault('usage', `The variable ${printable(name)} is not set.`);
      return [name, value];
    }),
  );
}

/** The key that seals are signed with, where the environment names one. */
export function namedKey(): { readonly signingKey?: string } {
  const file = process.env['PROCTOR_KEY'];
  return file === undefined ? {} : { signingKey: file };
}
