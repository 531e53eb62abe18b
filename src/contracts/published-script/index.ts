import { type Contract, MIB } from '../contract.ts';
import { publishedScriptRules } from './rules.ts';
import { type PublishedScript, publishedScriptShape } from './shape.ts';

export { isDay, TEXT_LENGTH, UPLOAD_BYTES, UPLOAD_BYTES_MAX } from './input-findings.ts';
export { declaredLimits, writtenBytes } from './limits.ts';
export { INPUTS_FILE } from './rules.ts';
export { GROUP_NAME, type PublishedScript, type PublishedVersion, SCRIPT_NAME, type ScriptInput } from './shape.ts';

const example: PublishedScript = {
  schema_version: 'published-script.v1',
  name: 'clean-orders',
  version: '1.2.0',
  title: 'Clean an order list',
  description: 'Removes orders without an amount, and sums the rest per month.',
  script: 'clean.py',
  files: ['templates/summary.html'],
  inputs: [
    { kind: 'file', name: 'orders', label: 'Order list', required: true, accept: ['.csv'], max_bytes: '20m' },
    { kind: 'text', name: 'column', label: 'Column with the amount', default: 'amount', max_length: 60 },
    { kind: 'choice', name: 'currency', label: 'Currency', choices: ['EUR', 'GBP', 'USD'], default: 'EUR' },
    {
      kind: 'number',
      name: 'least',
      label: 'Smallest amount',
      help: 'Smaller orders are left out.',
      min: 0,
      step: 0.01,
    },
    { kind: 'date', name: 'since', label: 'First day', earliest: '2020-01-01' },
  ],
  limits: { timeout: '2m', memory: '512m', max_files: 10, max_bytes: '50m' },
  who: ['accounting'],
  keep: { outputs: '30d', logs: '90d' },
};

export const publishedScript: Contract = {
  name: 'published-script',
  title: 'Published script',
  tells: 'A script for end users: its typed inputs, its limits, who may run it, and how long results are kept.',
  source: 'Proctor, publish',
  version: { field: 'schema_version', value: 'published-script.v1' },
  shape: publishedScriptShape,
  rules: publishedScriptRules,
  unknownKeys: 'PS1',
  programText: ['description', 'inputs'],
  beyond: ['whether its files exist', 'whether its patterns are valid RE2'],
  bytesMax: MIB,
  example,
};
