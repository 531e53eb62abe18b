import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { ROOT } from '../support/support.ts';
import { FakeGitHub } from './github.ts';

interface Asked {
  readonly token?: string;
  readonly name?: string;
  readonly runId?: string;
  readonly text?: string;
  readonly number?: number;
  readonly api?: string;
}

interface Outcome {
  readonly isWritten: boolean;
  readonly message: string;
}

const { writeComment } = (await import(path.join(ROOT, 'scripts', 'action-comment.mjs'))) as {
  writeComment: (options: object) => Promise<Outcome>;
};

async function world() {
  const github = await FakeGitHub.start();
  const waits: number[] = [];
  const write = ({
    token = 'good',
    name = 'proctor-report',
    runId = '100',
    text = 'A verdict.',
    ...rest
  }: Asked = {}) =>
    writeComment({
      api: github.url,
      token,
      repository: 'team/desk',
      number: 7,
      name,
      runId,
      text,
      footer: 'Full report',
      wait: async (ms: number) => void waits.push(ms),
      ...rest,
    });
  return { github, waits, write };
}

const bodyOf = (text: string, run = 100, name = 'proctor-report'): string =>
  `<!-- proctor ${name} run ${run} -->\n${text}\n\nFull report`;

describe('one comment per pull request', () => {
  test('is created once, and then updated', async () => {
    const { github, write } = await world();
    expect(await write()).toEqual({ isWritten: true, message: 'Proctor wrote a comment on the pull request.' });
    expect(await write({ runId: '101', text: 'Another.' })).toMatchObject({ isWritten: true });
    expect(github.comments.map(({ body }) => body)).toEqual([bodyOf('Another.', 101)]);
    expect(await write({ runId: '101', text: 'Another.' })).toMatchObject({ message: 'The comment is up to date.' });
    expect(github.requests.filter(asked => !asked.startsWith('GET'))).toHaveLength(2);
  });

  test('is found behind 250 other comments', async () => {
    const { github, write } = await world();
    for (let index = 0; index < 250; index++) github.add(`Comment ${index}`, { login: 'reviewer', type: 'User' });
    const own = github.add(bodyOf('Old.', 99));
    for (let index = 0; index < 30; index++) github.add('More', { login: 'reviewer', type: 'User' });
    await write();
    expect(own.body).toBe(bodyOf('A verdict.'));
    expect(github.comments).toHaveLength(281);
  });

  test('is not replaced by an older run', async () => {
    const { github, write } = await world();
    await write({ runId: '200', text: 'Newer.' });
    expect(await write({ runId: '199', text: 'Older.' })).toMatchObject({
      isWritten: true,
      message: 'A newer run has already written the comment.',
    });
    expect(github.comments[0]?.body).toBe(bodyOf('Newer.', 200));
  });

  test('is found by the name of the action, and a copied marker is ignored', async () => {
    const { github, write } = await world();
    const forged = github.add(bodyOf('✅ Forged', 999), { login: 'mallory', type: 'User' });
    const later = github.add(`Look: ${bodyOf('quoted', 1)}`);
    await write({ name: 'first' });
    await write({ name: 'second' });
    expect(github.comments.map(({ body }) => body)).toEqual([
      forged.body,
      later.body,
      bodyOf('A verdict.', 100, 'first'),
      bodyOf('A verdict.', 100, 'second'),
    ]);
  });

  test('is found by its user if the token belongs to one', async () => {
    const { github, write } = await world();
    github.tokens['mine'] = { login: 'robot', mayWrite: true };
    const other = github.add(bodyOf('Of the workflow', 1));
    await write({ token: 'mine' });
    await write({ token: 'mine', text: 'Again.' });
    expect(github.comments.map(({ body }) => body)).toEqual([other.body, bodyOf('Again.')]);
  });

  test('is created again if it was deleted in between', async () => {
    const { github, write } = await world();
    await write();
    github.faults.push({ on: 'PATCH', fault: { status: 404 } });
    expect(await write({ text: 'Next.' })).toMatchObject({ isWritten: true });
    expect(github.comments.map(({ body }) => body)).toEqual([bodyOf('A verdict.'), bodyOf('Next.')]);
  });

  test('is cut at 65,536 characters, at the end of a line, and says so', async () => {
    const { github, write } = await world();
    const text = `## Verdict\n\n<details><summary>Flaky: 2</summary>\n\n${'- `case` 🙂 flaky\n'.repeat(10_000)}\n</details>`;
    expect(await write({ text })).toMatchObject({ isWritten: true });
    const body = github.comments[0]?.body ?? '';
    expect(body.length).toBeLessThanOrEqual(65_536);
    expect(body.length).toBeGreaterThan(65_000);
    expect(body.isWellFormed()).toBe(true);
    expect(body).toMatch(/- `case` 🙂 flaky\n\n<\/details>\n\n\*The rest is cut, .*\*\n\nFull report$/);
  });
});

describe('the step that writes the comment', () => {
  test('says that the token of a fork may not write it', async () => {
    const { github, write, waits } = await world();
    github.tokens['fork'] = { mayWrite: false };
    const outcome = await write({ token: 'fork' });
    expect(outcome.isWritten).toBe(false);
    expect(outcome.message).toMatch(
      /^The token cannot write comments, so Proctor writes none\. Pull requests from forks have no other token\./,
    );
    expect([github.comments, waits]).toEqual([[], []]);
  });

  test.each([
    ['a missing token', { token: '' }, 'There is no token, so Proctor writes no comment. Set github-token.'],
    ['a wrong token', { token: 'wrong' }, 'GitHub does not accept the token, so Proctor writes no comment.'],
    ['an unknown pull request', { number: 8 }, 'The token cannot write comments, so Proctor writes none.'],
    ['a body that GitHub refuses', { status: 422 }, 'GitHub does not accept the comment, so Proctor writes none.'],
    ['a redirection', { status: 302 }, 'GitHub answered with status 302, so Proctor writes no comment.'],
  ])('says what is wrong with %s', async (_, { status, ...asked }: Asked & { status?: number }, message) => {
    const { github, write } = await world();
    if (status !== undefined) github.faults.push({ on: 'POST', fault: { status } });
    const outcome = await write(asked);
    expect(outcome.isWritten).toBe(false);
    expect(outcome.message.startsWith(message), outcome.message).toBe(true);
  });

  test('tries again after a server failure, without writing a second comment', async () => {
    const { github, write, waits } = await world();
    github.faults.push({ on: 'GET /repos', fault: { status: 502 } });
    github.faults.push({ on: 'POST', fault: { status: 500, afterwards: true } });
    expect(await write()).toMatchObject({ isWritten: true });
    expect(github.comments).toHaveLength(1);
    expect(waits).toEqual([1_000, 2_000]);
  });

  test('gives up after four attempts', async () => {
    const { github, write, waits } = await world();
    for (let index = 0; index < 9; index++) github.faults.push({ on: 'POST', fault: { status: 503 } });
    expect(await write()).toEqual({
      isWritten: false,
      message: 'GitHub failed with status 503, so Proctor writes no comment.',
    });
    expect(waits).toEqual([1_000, 2_000, 4_000]);
  });

  test('waits as long as a rate limit says, but at most a minute', async () => {
    const { github, write, waits } = await world();
    github.faults.push({ on: 'POST', fault: { status: 429, headers: { 'retry-after': '7' } } });
    github.faults.push({ on: 'POST', fault: { status: 403, headers: { 'retry-after': '3' } } });
    expect(await write()).toMatchObject({ isWritten: true });
    expect(waits).toEqual([7_000, 3_000]);
    const reset = String(Math.ceil(Date.now() / 1_000) + 3_600);
    const headers = { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': reset };
    github.faults.push({ on: 'GET', fault: { status: 403, headers } });
    expect(await write({ text: 'Next.' })).toMatchObject({ isWritten: false });
    expect(waits).toHaveLength(2);
  });

  test('says that GitHub cannot be reached', async () => {
    const { write, waits } = await world();
    const outcome = await write({ api: 'http://127.0.0.1:1' });
    expect(outcome.message).toBe('GitHub could not be reached, so Proctor writes no comment.');
    expect(waits).toHaveLength(3);
  });

  test('never prints the token', async () => {
    const { github, write } = await world();
    for (const status of [400, 401, 403, 404, 418, 422, 503]) {
      for (let index = 0; index < 4; index++) github.faults.push({ on: 'GET /repos', fault: { status } });
      expect(JSON.stringify(await write()), String(status)).not.toContain('good');
      github.faults.length = 0;
    }
  });
});
