import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { readTargetFile } from '../../../src/run/suite/target-file.ts';
import { temporaryFolder } from '../../support/support.ts';

const HEAD = 'kind: http\nurl: http://127.0.0.1:8000\n';
const REPLY = 'reply: { final_output: $.answer }\n';

const read = (text: string, name = 'desk.yaml') => {
  const file = path.join(temporaryFolder(), name);
  writeFileSync(file, text);
  return () => readTargetFile(file);
};

describe('a target file', () => {
  test.each([
    [
      'an unquoted placeholder in braces',
      `${HEAD}request: { body: { m: \${input.user} } }\n${REPLY}`,
      /line 3: Invalid YAML: .+; put a value with \$\{…\} in quotes, such as "\$\{input\.user\}"\.$/,
    ],
    [
      'an unquoted item path',
      `${HEAD}request: {}\nreply:\n  final_output: $.a\n  events:\n    - { as: tool_call, each: $.t, tool: @.x }\n`,
      /line 7: Invalid YAML: .+; put the value in quotes, such as "@\.name"\.$/,
    ],
    ['other invalid YAML', `${HEAD}request: { path: /a\n`, /line \d: Invalid YAML: [^;]+\.$/],
    [
      'a misspelled kind',
      'kind: htp\nurl: http://127.0.0.1:8000\n',
      /line 1: kind must be .+ \(did you mean "http"\?\)\.$/,
    ],
    ['an unknown kind', 'kind: xyz\nurl: http://127.0.0.1:8000\n', /line 1: kind must be one of [^(]+\.$/],
    ['a time without its unit', `${HEAD}request: {}\n${REPLY}timeout: 30\n`, /line 5: .*\b30s\b/],
    [
      'a time without its unit below another key',
      `${HEAD}request: {}\n${REPLY}start: { run: [a], ready: { within: 5 } }\n`,
      /line 5: .*\b5s\b/,
    ],
  ])('with %s is refused, with a hint if Proctor has one', (_what, text, message) => {
    expect(read(text)).toThrow(message);
  });

  test('that cannot be read is refused, and named as the user wrote it', () => {
    const cwd = temporaryFolder();
    const missing = () => readTargetFile(path.join(cwd, 'targets/desk.yaml'), 'targets/desk.yaml');
    expect(missing).toThrow('There is no target file "targets/desk.yaml" relative to this folder.');
    expect(() => readTargetFile(cwd, '.')).toThrow('"." is not a file.');
    expect(read(`# ${'x'.repeat(1024 * 1024)}\n`)).toThrow('larger than 1 MiB');
  });
});
