import { catalogue } from '../contracts/catalogue.ts';
import type { Contract } from '../contracts/contract.ts';
import { type JsonSchema, jsonSchema } from '../contracts/json-schema.ts';

export async function schema(name: string): Promise<JsonSchema | undefined> {
  const contract = await contractOf(name);
  return contract && jsonSchema(contract);
}

export async function example(name: string): Promise<unknown> {
  return (await contractOf(name))?.example;
}

async function contractOf(name: string): Promise<Contract | undefined> {
  return Object.hasOwn(catalogue, name) ? catalogue[name]?.load() : undefined;
}
