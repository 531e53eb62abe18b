import { Fault } from '../base/fault.ts';
import { contractNames } from '../contracts/catalogue.ts';
import { schema } from '../tool/schema.ts';
import { stdout } from './out.ts';

/** Prints the schema of a document; without a name, the names there are. */
export async function schemaCommand(name?: string): Promise<number> {
  if (name === undefined) {
    stdout.write(`${contractNames.join('\n')}\n`);
    return 0;
  }
  const found = await schema(name);
  if (!found) throw new Fault('usage', `No contract is called that. There are: ${contractNames.join(', ')}.`);
  stdout.write(`${JSON.stringify(found, null, 2)}\n`);
  return 0;
}
