import { createRequire } from 'node:module';
import type * as yaml from 'yaml';

// Files are handed over by functions that do not wait, so what few of them need is required when it is needed.
const load = createRequire(import.meta.url);

export function yamlLibrary(): typeof yaml {
  return load('yaml') as typeof yaml;
}
