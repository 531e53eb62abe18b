import { describe, expect, test } from 'vitest';
import { suiteVersions, versionName } from '../../src/verbs/suite-versions.ts';

const names = (agents: readonly string[], models: readonly string[]): string[] =>
  suiteVersions(agents, models).map(versionName);

describe('the versions of a suite', () => {
  test.each([
    [['claude'], [], ['claude']],
    [['claude'], ['m1'], ['claude m1']],
    [['claude', 'codex'], [], ['claude', 'codex']],
    [
      ['claude', 'codex'],
      ['m1', 'm2'],
      ['claude m1', 'claude m2', 'codex m1', 'codex m2'],
    ],
    [
      ['claude', 'codex'],
      ['claude=a', 'codex=b'],
      ['claude a', 'codex b'],
    ],
    [
      ['claude', 'codex'],
      ['claude=a', 'b'],
      ['claude a', 'claude b', 'codex b'],
    ],
    [
      ['claude', 'codex'],
      ['claude=a', 'claude=b'],
      ['claude a', 'claude b', 'codex'],
    ],
  ])('of %j and %j are %j', (agents, models, expected) => {
    expect(names(agents, models)).toEqual(expected);
  });

  test.each([
    ['an agent twice', ['claude', 'claude'], [], '"claude" is named twice'],
    ['a model twice', ['claude'], ['m', 'claude=m'], '"claude m" is named twice'],
    ['a model of an agent that does not run', ['claude'], ['codex=m'], 'Add --agent codex.'],
    [
      'nine versions',
      ['claude', 'codex', 'other'],
      ['a', 'b', 'c'],
      'at most 8 versions, and you named 9. Leave out "other c".',
    ],
  ])('cannot have %s', (_, agents, models, says) => {
    expect(() => names(agents, models)).toThrow(says);
  });
});
