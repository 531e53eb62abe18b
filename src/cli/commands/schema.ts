import { Fault } from '../../base/fault.ts';
import { printable } from '../../base/printable.ts';
import { contractNames } from '../../contracts/catalogue.ts';
import { example, schema } from '../../verbs/schema.ts';
import { stdout } from '../text/out.ts';

export async function schemaCommand(name?: string): Promise<number> {
  return print(name, schema);
}

export async function exampleCommand(name?: string): Promise<number> {
  return print(name, example);
}

async function print(name: string | undefined, find: (name: string) => Promise<unknown>): Promise<number> {
  if (name === undefined) {
    stdout.write(`${contractNames.join('\n')}\n`);
    return 0;
  }
  const found = await find(name);
  if (found === undefined) {
    throw new Fault('usage', `There is no format "${printable(name)}". Use one of: ${contractNames.join(', ')}.`);
  }
  stdout.write(`${JSON.stringify(found, null, 2)}\n`);
  return 0;
}
