import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { canonicalize } from '../../src/base/canonical.ts';
import { loadContracts } from '../../src/contracts/catalogue.ts';
import { proctor, ROOT, temporaryFolder } from '../support/support.ts';

/** The npm package `node` contains real binaries of every supported release line. */
describe.each(['20.19', '22', '24'])('on Node %s', line => {
  test('the verifier gives the same verdicts on valid and broken documents', async () => {
    const cwd = temporaryFolder();
    const files: string[] = [];
    for (const contract of await loadContracts()) {
      const documents = [
        contract.example,
        ...contract.rules.slice(0, 3).map(({ breach }) => breach(structuredClone(contract.example) as never)),
      ];
      for (const [index, document] of documents.entries()) {
        files.push(`${contract.name}-${index}.json`);
        // A breach may remove a key by making it undefined.
        const plain: unknown = JSON.parse(JSON.stringify(document));
        writeFileSync(path.join(cwd, files.at(-1) as string), canonicalize(plain));
      }
    }
    writeFileSync(path.join(cwd, 'torn.json'), '{"a":');
    writeFileSync(path.join(cwd, 'twice.json'), '{"a":1,"a":2}');
    const args = ['verify', '--json', ...files, 'torn.json', 'twice.json'];
    const node = execFileSync(
      'npm',
      ['exec', '--yes', `--package=node@${line}`, '--', 'node', '-p', 'process.execPath'],
      { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] },
    ).trim();
    expect(execFileSync(node, ['--version'], { encoding: 'utf8' })).toMatch(
      new RegExp(`^v${line.replace('.', '\\.')}\\.`),
    );
    let there = '';
    try {
      there = execFileSync(node, [path.join(ROOT, 'dist', 'proctor.js'), ...args], { cwd, encoding: 'utf8' });
    } catch (error) {
      there = (error as { stdout: string }).stdout;
    }
    expect(there).toBe(proctor(args, { cwd }).stdout);
    expect(files.length).toBeGreaterThan(50);
  });
});
