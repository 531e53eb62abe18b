import fc from 'fast-check';
import { expect, test } from 'vitest';
import { asksForInput } from '../../src/adapters/prompt.ts';

test.each([
  'Continue? [y/N]',
  'Continue? [Y/n] ',
  'Are you sure you want to continue connecting (yes/no/[fingerprint])? ',
  'Overwrite existing file? (y/n)',
  'Delete all 3 files (yes/no):',
  'Password:',
  'Password: ',
  '[sudo] password for agent: ',
  "Enter passphrase for key '/home/agent/.ssh/id_ed25519': ",
  "Username for 'https://example.com': ",
  'login: ',
  'Enter your API key: ',
  'Verification code:',
  'Press Enter to continue...',
  'Press any key to continue . . .',
  'press [ENTER] to open your browser',
  'Hit return when you are ready',
  'Paste the code here if prompted >',
  'If your browser does not open, visit the address above and paste your code',
  'Do you want to allow this command to run?',
  'Would you like to install it now?',
  'Do you trust the files in this folder?',
  'Need to install the following packages: x. Ok to proceed? (y)',
  '? What is your name?',
  '❯ 1. Dark mode',
  'Please select an option:',
  '\u001b[1mProceed?\u001b[0m [y/N] \u001b[?25h',
  'Fetching 3 files\nDone.\nContinue? [y/N] ',
])('detects a prompt: %j', text => {
  expect(asksForInput(text)).toBe(true);
});

test.each([
  '',
  ' \n\t',
  'Reading additional input from stdin...',
  'Listening on http://127.0.0.1:3000, press Ctrl+C to stop',
  'Compiling proctor v0.1.0',
  'added 1 package in 13s',
  '2026-11-15T18:15:47.442949Z ERROR codex_api::endpoint: failed to connect. Retry?',
  '[INFO] Do you want to see more? Use --verbose, or not?',
  'WARNING: proceeding, even though we could not create PATH aliases',
  'error: the password is wrong',
  'token: abc123',
  'The password was changed.',
  'warning: continue is deprecated',
  '{"type":"assistant","text":"Do you want to continue? [y/N]"}',
  '[{"question":"Continue?"}]',
  '"Continue? [y/N]"',
  'Continue? [y/N] y\nInstalling...\n12 files written',
  'Why did the test fail?',
  'http://example.com/?a=1',
  '100%',
  'usage: claude [options] [command] [prompt]',
])('detects no prompt: %j', text => {
  expect(asksForInput(text)).toBe(false);
});

test('checks any text without an exception, even 2 MB of near misses', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 600 }), text => typeof asksForInput(text) === 'boolean'),
  );
  for (const piece of ['do you want ', 'enter ', '[y/', '\u001b[', 'paste ', 'press the ', 'a ', '? ']) {
    expect(typeof asksForInput(piece.repeat(2_000_000 / piece.length))).toBe('boolean');
  }
});
