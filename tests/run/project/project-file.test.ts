import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { findProjectFile, readProjectFile } from '../../../src/run/project/project-file.ts';
import { temporaryFolder } from '../../support/support.ts';
import { PROJECT } from '../../verbs/test/world.ts';

function fileWith(text: string): string {
  const file = path.join(temporaryFolder(), 'proctor.yaml');
  writeFileSync(file, text);
  return file;
}

describe('a project file', () => {
  test('gives the line of a nested key', () => {
    const { lineOf, project } = readProjectFile(fileWith(PROJECT));
    expect(Object.keys(project.targets)).toEqual(['desk', 'worse']);
    const lines = PROJECT.split('\n');
    expect(lines[lineOf('suites.desk.cases') - 1]).toContain('cases:');
    expect(lines[lineOf('gate.limits.max_failing') - 1]).toContain('max_failing');
  });

  test.each([
    ['a misspelled key', PROJECT.replace('cases:', 'casses:'), /line 17: .*casses.*cases/],
    ['a misspelled key of a target', PROJECT.replace('request:', 'reqest:'), /line 7: .*reqest.*request/],
    [
      'an unknown target',
      PROJECT.replace('target: desk', 'target: dask'),
      /line 18: suites\.desk\.target must be the name of a target/,
    ],
    ['a path that does not compile', PROJECT.replace('$.answer', '$..answer'), /line 8: targets\.desk\.reply/],
    [
      'a credential in plain text',
      PROJECT.replace('env: { PORT', 'env: { API_KEY: abc, PORT'),
      /line 6: targets\.desk\.start\.env\.API_KEY carries a credential/,
    ],
    ['no target and no sides', PROJECT.replace('    target: desk\n', ''), /suites\.desk\.target must be present/],
    ['empty limits', PROJECT.replace('{ max_failing: 0 }', '{}'), /gate\.limits must have a limit/],
    ['a name with a slash', PROJECT.replace('  worse:', '  ../worse:'), /targets must have names of/],
  ])('is refused for %s', (_, text, message) => {
    expect(() => readProjectFile(fileWith(text))).toThrow(message);
  });
});

describe('the search for a project file', () => {
  test('looks in the folder and above, up to the top of the repository', () => {
    const top = temporaryFolder();
    const below = path.join(top, 'repository', 'a', 'b');
    mkdirSync(below, { recursive: true });
    writeFileSync(path.join(top, 'proctor.yaml'), PROJECT);
    expect(findProjectFile(below)).toBe(path.join(top, 'proctor.yaml'));
    mkdirSync(path.join(top, 'repository', '.git'));
    expect(findProjectFile(below)).toBeUndefined();
    writeFileSync(path.join(top, 'repository', 'a', 'proctor.yml'), PROJECT);
    expect(findProjectFile(below)).toBe(path.join(top, 'repository', 'a', 'proctor.yml'));
  });

  test('skips a project file in a parent folder if everyone can write to it', () => {
    const top = temporaryFolder();
    mkdirSync(path.join(top, 'a'));
    writeFileSync(path.join(top, 'proctor.yaml'), PROJECT);
    chmodSync(path.join(top, 'proctor.yaml'), 0o666);
    expect(findProjectFile(path.join(top, 'a'))).toBeUndefined();
    expect(findProjectFile(top)).toBe(path.join(top, 'proctor.yaml'));
  });
});
