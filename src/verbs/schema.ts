import { canonicalize } from '../base/canonical.ts';
import { catalogue } from '../contracts/catalogue.ts';
import type { Contract } from '../contracts/contract.ts';
import { type JsonSchema, jsonSchema } from '../contracts/json-schema.ts';

export async function schema(name: string): Promise<JsonSchema | undefined> {
  const contract = await contractOf(name);
  return contract && jsonSchema(contract);
}

/** A valid document as text: canonical if the format requires canonical bytes, so that it also passes `--strict`. */
export async function example(name: string): Promise<{ readonly text: string } | undefined> {
  const contract = await contractOf(name);
  if (!contract) return undefined;
  const { example, canonicalBytes } = contract;
  return { text: canonicalBytes === undefined ? JSON.stringify(example, null, 2) : canonicalize(example) };
}

async function contractOf(name: string): Promise<Contract | undefined> {
  return Object.hasOwn(catalogue, name) ? catalogue[name]?.load() : undefined;
}
