import { catalogue } from '../contracts/catalogue.ts';
import { type JsonSchema, jsonSchema } from '../contracts/json-schema.ts';

/** The JSON Schema of a contract, or undefined if none has that name. */
export async function schema(name: string): Promise<JsonSchema | undefined> {
  if (!Object.hasOwn(catalogue, name)) return undefined;
  const contract = await catalogue[name]?.load();
  return contract && jsonSchema(contract);
}
