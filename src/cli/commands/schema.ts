import { Fault } from '../../base/fault.ts';
import { didYouMean } from '../../base/nearest.ts';
import { printable, printableJson } from '../../base/printable.ts';
import { contractNames } from '../../contracts/catalogue.ts';
import { example, schema } from '../../verbs/schema.ts';
import { stdout } from '../text/out.ts';

interface Flags {
  readonly json?: true;
}

export async function schemaCommand(name: string | undefined, { json }: Flags): Promise<number> {
  if (name === undefined) return listFormats(json);
  const found = await schema(name);
  if (!found) throw noFormat(name);
  stdout.write(`${JSON.stringify(found, null, 2)}\n`);
  return 0;
}

export async function exampleCommand(name: string | undefined, { json }: Flags): Promise<number> {
  if (name === undefined) return listFormats(json);
  const found = await example(name);
  if (!found) throw noFormat(name);
  stdout.write(`${found.text}\n`);
  return 0;
}

function listFormats(json: true | undefined): number {
  stdout.write(json ? `${printableJson({ formats: contractNames })}\n` : `${contractNames.join('\n')}\n`);
  return 0;
}

export function noFormat(name: string): Fault {
  const near = didYouMean(name, contractNames);
  return new Fault('usage', `There is no format "${printable(name)}".${near} Use one of: ${contractNames.join(', ')}.`);
}
