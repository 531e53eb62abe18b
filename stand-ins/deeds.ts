import { spawnSync } from 'node:child_process';
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import { bounds } from './deeds-at-bounds.ts';
import { repository } from './deeds-in-repository.ts';
import { callOf, type Deed, uses } from './scene.ts';
import { print } from './stream.ts';

const telling: Readonly<Record<string, Deed>> = {
  say: ({ tongue }) => tongue.says('I look around first.'),
  /** This many lines, of all the usual kinds. */
  lines: ({ tongue }, lines = '1000') => {
    for (let line = 0; line < Number(lines); line += 2) uses(tongue, 'command', `echo ${line}`, () => `${line}\n`);
  },
  deny: ({ tongue }, path = `${process.cwd()}/denied.txt`) => {
    const call = callOf('write', path);
    tongue.calls(call);
    tongue.denied(call);
  },
  /** The agent's own sandbox blocks the command, but the command reports success. */
  blocked: ({ tongue }) =>
    uses(tongue, 'command', 'echo x > /elsewhere; echo rc=$?', () => 'bash: /elsewhere: Read-only file system\nrc=1\n'),
  /** Runs any command, in hexadecimal, and reports how it ended. */
  sh: ({ tongue }, hex = '') => {
    const call = callOf('command', Buffer.from(hex, 'hex').toString());
    tongue.calls(call);
    const { status, stdout, stderr } = spawnSync('/bin/sh', ['-c', call.what], { encoding: 'utf8' });
    tongue.returned(call, stdout + stderr, status ?? 1);
  },
  /** Writes a file at any path, in hexadecimal, with the file tool. */
  file: ({ tongue }, hex = '') => {
    const call = callOf('write', Buffer.from(hex, 'hex').toString());
    tongue.calls(call);
    try {
      writeFileSync(call.what, 'hello\n');
      tongue.returned(call, 'written', 0);
    } catch (error) {
      tongue.notWritten(call, String(error));
    }
  },
  ask_user: ({ tongue }) => tongue.asks(),
  failed_command: ({ tongue }) => {
    const call = callOf('command', 'npm test');
    tongue.calls(call);
    tongue.returned(call, '1 test failed\n', 1);
  },
  tested: ({ tongue }) => uses(tongue, 'command', 'npm test', () => '12 tests passed\n'),
  /** A tool call without a result, by an agent that reports success. */
  open_call: ({ tongue }) => tongue.calls(callOf('command', 'sleep 300')),
  claim_tests: scene => {
    scene.finalText = 'I added the function and ran the tests. All tests pass.';
  },
  claim_work: scene => {
    scene.finalText = 'Done: I have changed the file as you asked.';
  },
  /** Sets the last message, in base64url. */
  final: (scene, text = '') => {
    scene.finalText = Buffer.from(text, 'base64url').toString();
  },
  no_text: scene => {
    scene.finalText = '';
  },
  unknown: ({ tongue }) => tongue.unknown(),
  bad_utf8: () => {
    print(Buffer.from([0x7b, 0x22, 0xff, 0xfe, 0xc3, 0x28, 0x22, 0x7d, 0x0a]));
  },
  not_json: () => print('Segmentation fault (not really)\n{"type":"assistant",\n[]\nnull\n"text"\n'),
  /** Prints a file in its folder, byte for byte, as its own stream. */
  print_file: (_scene, file = 'lines.txt') => print(readFileSync(file)),
  on_stderr: (_scene, text = 'a_word_on_stderr') => print(`${text}\n`, 2),
  /** Writes its environment to a file, as one line. */
  look: () => appendFileSync('seen.json', `${JSON.stringify(surroundings())}\n`),
  /** Ignores the requested schema: the last line has no structured output. */
  schema_missing: () => {},
  silence: () => {},
};

function surroundings(): object {
  return {
    argv: process.argv.slice(2),
    env: process.env,
    cwd: process.cwd(),
    uid: process.getuid?.(),
    tty: [process.stdin.isTTY, process.stdout.isTTY, process.stderr.isTTY].map(Boolean),
  };
}

export const deeds: Readonly<Record<string, Deed>> = { ...telling, ...bounds, ...repository };
