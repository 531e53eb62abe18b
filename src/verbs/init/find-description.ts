import path from 'node:path';
import { readRegular } from '../../base/regular.ts';
import { plainText } from '../../run/written/plain-text.ts';
import { yamlDocument } from '../../run/written/yaml-document.ts';
import { YamlFault, YamlValues } from '../../run/written/yaml-values.ts';
import { DOCUMENT_BYTES_MAX, jsonObjectIn } from './folder.ts';
import type { Look } from './look.ts';
import { type ChatOperation, chatOperation } from './openapi.ts';

/** An OpenAPI file in the folder, and its operation that takes a message and returns an answer. */
export interface FoundDescription {
  readonly file: string;
  readonly operation: ChatOperation;
}

export function findDescription({ cwd }: Look): FoundDescription | undefined {
  for (const file of FILES) {
    const bytes = readRegular(path.join(cwd, file), DOCUMENT_BYTES_MAX);
    const operation = bytes && chatOperation(file.endsWith('.json') ? jsonObjectIn(bytes) : yamlIn(bytes));
    if (operation) return { file, operation };
  }
  return undefined;
}

const FILES = ['openapi.json', 'openapi.yaml', 'openapi.yml'];

/** The value of a YAML file; undefined if Proctor cannot read it. */
function yamlIn(bytes: Buffer): unknown {
  const text = plainText(bytes);
  if (typeof text !== 'string') return undefined;
  const document = yamlDocument(text);
  if (!('lineAt' in document) || !document.root) return undefined;
  try {
    return new YamlValues('the OpenAPI file', DOCUMENT_BYTES_MAX).valueOf(document.root, 1).value;
  } catch (error) {
    if (error instanceof YamlFault) return undefined;
    throw error;
  }
}
