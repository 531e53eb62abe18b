import { type Contract, MIB } from '../contract.ts';
import { scriptResultRules } from './rules.ts';
import { type ScriptResult, scriptResultShape } from './shape.ts';

export { artifactPathFault } from './artifact-path.ts';
export { unsafeParts } from './summary.ts';
export { holdsTrace } from './trace.ts';
export type { ScriptResult };

const example: ScriptResult = {
  contract_version: 1,
  status: 'succeeded',
  html_output: '<p>Three rows were checked, none is missing.</p>',
  error_summary: null,
  artifacts: [{ path: 'output/report.pdf', bytes: 120_000 }],
};

export const scriptResult: Contract = {
  name: 'script-result',
  title: 'Script result',
  tells: 'What a script reports about its run: its status, the HTML to show, and the files in output/.',
  source: 'Runner result contract, version 1',
  version: { field: 'contract_version', value: 1 },
  versionFirst: true,
  shape: scriptResultShape,
  rules: scriptResultRules,
  unknownKeys: 'SR1',
  programText: ['html_output'],
  claims: function* ({ artifacts }: ScriptResult) {
    for (const [index, { path, bytes }] of artifacts.entries())
      yield { at: `artifacts[${index}]`, file: path, bytes, hint: true };
  },
  beyond: ['whether its claims are true: the script wrote all of it'],
  bytesMax: MIB,
  example,
};
