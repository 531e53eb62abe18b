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
          `Pass only the name, --secret ${printable(name)}, because other users can read values on the command line.`,
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

/** The address of the queue: from the command line, or from the environment, which other users cannot read. */
export function queueAddress(url: string | undefined): string {
  const address = url ?? process.env['PROCTOR_QUEUE'];
  if (address !== undefined && address !== '') return address;
  throw new Fault('usage', 'No queue is specified. Pass its address, or set PROCTOR_QUEUE.');
}
