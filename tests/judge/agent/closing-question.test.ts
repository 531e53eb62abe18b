import { describe, expect, test } from 'vitest';
import { asksAtEnd } from '../../../src/judge/agent/closing-question.ts';

describe('a message ends with a question to the user', () => {
  test.each([
    'Which colour?',
    'I looked around. Which colour should I use?',
    'There are two ways to do it:\n\n1. a flag\n2. a file\n\nWhich one do you prefer?',
    'The tests need a database. Should I proceed without one? (yes/no)?',
    'I can delete the old files. **Shall I?**',
    'Do you want me to delete the folder?',
    'どちらの色にしますか？',
    'Which file do you mean — “a” or “b?”',
    'أي لون تريد؟',
  ])('in %j', text => expect(asksAtEnd(text)).toBe(true));

  test.each([
    'Done.',
    '',
    'Is it correct? Yes: all tests pass.',
    'I fixed the parser. Anything else?',
    'Done. Is there anything else I can help with?',
    'Done. Would you like me to also explain the change?',
    'I renamed the function to `isReady?`. It works.',
    'I added this to the docs:\n\n```\nWhich colour do you want?\n```',
    'I answered the question "what is it?" in the docs. All is well',
  ])('but not in %j', text => expect(asksAtEnd(text)).toBe(false));

  test('and the search takes bounded time for any text', () => {
    expect(asksAtEnd(`${'what '.repeat(200_000)}?`)).toBe(true);
    expect(asksAtEnd('? '.repeat(500_000))).toBe(false);
  });
});
