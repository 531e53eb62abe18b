import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { ROOT } from '../support/support.ts';
import { left, node, python, workFolder } from './tools.ts';

describe('docs/scripts.md', () => {
  const page = readFileSync(path.join(ROOT, 'docs', 'scripts.md'), 'utf8');
  const blocks = (language: string) =>
    [...page.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, 'gm'))].map(([, code]) => code as string);
  const inputs = { 'data.csv': 'name,amount\nanna,3\nbo,\ncy,4\n' };

  test('has a Python example that works', async () => {
    const [example, ...others] = blocks('python');
    const { result, code } = await python(example as string, workFolder(inputs), ['amount']);
    expect({ code, others: others.length }).toEqual({ code: 0, others: 0 });
    expect(result).toMatchObject({ status: 'succeeded', html_output: '<p>3 rows, 1 without amount.</p>' });
    expect(result.artifacts.map(artifact => artifact.path)).toEqual(['output/missing.csv']);
    const refused = await python(example as string, workFolder(inputs), ['price']);
    expect(refused.result.error_summary).toBe('The table has no column named price.');
  });

  test('has a Node example that gives the same result', async () => {
    const [example] = blocks('js');
    const { result, code } = await node(example as string, workFolder(inputs), ['amount']);
    expect(code).toBe(0);
    expect(result).toMatchObject({ status: 'succeeded', html_output: '<p>3 rows, 1 without amount.</p>' });
    expect(result.artifacts.map(artifact => artifact.path)).toEqual(['output/missing.csv']);
    const refused = await node(example as string, workFolder(inputs), ['price']);
    expect(refused.result.error_summary).toBe('The table has no column named price.');
  });

  test('has a valid example of a result', async () => {
    const work = workFolder();
    const [example] = blocks('json');
    writeFileSync(path.join(work, 'result.json'), example as string);
    expect((await left(work, '/bin/true', [])).result.status).toBe('succeeded');
  });
});
