import { Fault } from '../../base/fault.ts';
import { printable } from '../../base/printable.ts';
import type { Header } from '../../verbs/run-suite.ts';

/** `NAME: env:VARIABLE`. The value is a secret, so it never appears on the command line. */
export function headerOf(text: string): Header {
  const [, name, env] = /^([A-Za-z0-9!#$%&'*+.^_`|~-]{1,100})\s*:\s*env:([A-Za-z_][A-Za-z0-9_]*)$/.exec(text) ?? [];
  if (name === undefined || env === undefined) {
    throw new Fault('usage', "A header must have the form 'NAME: env:VARIABLE'. Its value comes from the environment.");
  }
  const value = process.env[env];
  if (value === undefined) throw new Fault('usage', `The environment variable ${printable(env)} is not set.`);
  return { name: name.toLowerCase(), env, value };
}
