import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import type { Runner } from '../../src/contracts/runner/shape.ts';
import { type Place, place } from '../support/runs.ts';

const RESULT = { contract_version: 1, status: 'succeeded', html_output: '', error_summary: null, artifacts: [] };
const ENVIRONMENT = `import json, os
names = [line.split(b"=")[0].decode() for line in open("/proc/self/environ", "rb").read().split(b"\\0") if line]
open("output/names.json", "w").write(json.dumps(sorted(names)))
json.dump(${JSON.stringify(RESULT).replace('null', 'None')}, open("result.json", "w"))
`;

const folderOf = (here: Place): string => here.runFolders()[0] as string;
const recordOf = (here: Place): Runner =>
  JSON.parse(readFileSync(path.join(folderOf(here), 'evidence', 'runner.json'), 'utf8')) as Runner;

describe('the record of a run', () => {
  test.each([[], ['--sandbox', 'none']])('lists the variables that the program sees, with flags %j', (...flags) => {
    const here = place();
    here.file('names.py', ENVIRONMENT);
    const { code, stderr } = here.proctor(['run', 'script', 'names.py', ...flags.flat()]);
    expect(code, stderr).toBe(0);
    const names: unknown = JSON.parse(readFileSync(path.join(folderOf(here), 'output', 'names.json'), 'utf8'));
    expect(recordOf(here).context.env_allowlist).toEqual(names);
  });

  test('gets advice if it is verified alone, but not as part of its run folder', () => {
    const here = place();
    here.file('names.py', ENVIRONMENT);
    expect(here.proctor(['run', 'script', 'names.py']).code).toBe(0);
    const adviceOn = (file: string): unknown[] => {
      const { stdout } = here.proctor(['verify', file, '--json']);
      return (JSON.parse(stdout) as { inputs: { advice?: unknown[] }[] }).inputs.flatMap(({ advice = [] }) => advice);
    };
    expect(adviceOn(folderOf(here))).toEqual([]);
    expect(adviceOn(path.join(folderOf(here), 'evidence', 'runner.json'))).toMatchObject([
      { rule_id: 'RN8' },
      { rule_id: 'RN8' },
    ]);
  });

  test('records success if the result is written with JSON escapes', () => {
    const here = place();
    const result = { ...RESULT, html_output: '@' };
    const text = JSON.stringify(result).replace('null', 'None').replace('"@"', '"é" * 180000');
    here.file('escapes.py', `import json\njson.dump(${text}, open("result.json", "w"))\n`);
    const { code, stderr } = here.proctor(['run', 'script', 'escapes.py']);
    expect(code, stderr).toBe(0);
  });
});
