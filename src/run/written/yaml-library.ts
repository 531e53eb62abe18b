import { createRequire } from 'node:module';
import type * as yaml from 'yaml';

// Documents are read synchronously and few are YAML, so load the library on demand.
const load = createRequire(import.meta.url);

export function yamlLibrary(): typeof yaml {
  return load('yaml') as typeof yaml;
}
