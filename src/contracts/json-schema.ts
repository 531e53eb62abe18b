import * as z from 'zod/mini';
import type { Contract } from './contract.ts';

/** The JSON Schema (2020-12) of a format. It covers the shape; its description lists the other rules. */
export function jsonSchema(contract: Contract): JsonSchema {
  const { $schema, ...schema } = z.toJSONSchema(contract.shape, { io: 'input' });
  const rules = contract.rules.map(({ id, title }) => `${id} ${title}`).join('; ');
  return {
    $schema,
    title: contract.title,
    description: `${contract.schemaTells ?? `${contract.tells} (${contract.source})`} A schema cannot say everything: proctor verify also judges ${rules}.`,
    ...schema,
  } as JsonSchema;
}

export interface JsonSchema {
  readonly $schema: string;
  readonly required: readonly string[];
  readonly [keyword: string]: unknown;
}
