/** Attempts to leak a secret into the evidence, a report or the terminal, through a program or a server. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { gzipSync } from 'node:zlib';
import { describe, expect, onTestFinished, test } from 'vitest';
import { AgentWorld, filesIn, placePrograms } from '../run/agent/world.ts';
import { type Place, place, until } from '../support/runs.ts';
import type { Ran } from '../support/support.ts';

placePrograms();

const SECRET = 'violet-lantern-99173-quiet';
// Concatenated, so that no scanner mistakes this file for a leak.
const TOKEN = `gh${'p'}_${'a1B2'.repeat(9)}`;
const KEY = `sk-${'live-'}${'Zx9Q'.repeat(8)}`;
const AWS = `AK${'IA'}${'Q3X7'.repeat(4)}`;
const PEM = `-----BEGIN ${'RSA PRIVATE'} KEY-----\n${'MIIEowIBAAKCAQEA7bq2'.repeat(3)}\n-----END ${'RSA PRIVATE'} KEY-----`;
const CREDENTIALS = [TOKEN, KEY, AWS, 'MIIEowIBAAKCAQEA7bq2'];

/** The readable encodings of a secret. */
function spellings(secret: string): string[] {
  const bytes = Buffer.from(secret);
  const units = Array.from(secret).map(letter => letter.charCodeAt(0).toString(16));
  return [
    secret,
    bytes.toString('base64').replace(/=+$/, '').slice(0, -1),
    bytes.toString('base64url').slice(0, -1),
    bytes.toString('hex'),
    bytes.toString('hex').toUpperCase(),
    units.map(unit => `\\u${unit.padStart(4, '0')}`).join(''),
    units.map(unit => `%${unit}`).join(''),
    Array.from(secret)
      .map(letter => `&#${letter.charCodeAt(0)};`)
      .join(''),
    Array.from(secret).reverse().join(''),
  ];
}

/** Searches for well-known credentials verbatim and for declared secrets in all encodings. */
const spelt = (secrets: readonly string[]): string[] =>
  secrets.flatMap(secret => (CREDENTIALS.includes(secret) ? [secret] : spellings(secret)));

/** Expects no secret below `.proctor` or in any output, except in files that stay unchanged. */
function expectNowhere(secrets: readonly string[], world: Place, printed: readonly Ran[], exempt = /^\b$/): void {
  const texts = new Map<string, Buffer>([
    ...filesIn(path.join(world.cwd, '.proctor')),
    ...printed.flatMap((ran, index): [string, Buffer][] => [
      [`stdout of ${index}`, Buffer.from(ran.stdout)],
      [`stderr of ${index}`, Buffer.from(ran.stderr)],
    ]),
  ]);
  const found = [...texts]
    .filter(([name]) => !exempt.test(name))
    .filter(([, bytes]) => spelt(secrets).some(spelling => bytes.includes(spelling)))
    .map(([name]) => name);
  expect(found).toEqual([]);
}

/** The reports that people read afterwards. */
function looked(world: Place, kind: 'script' | 'suite' = 'script'): Ran[] {
  const views = [['list'], ['show', 'latest', '--internal'], ['show', 'latest', '--json']];
  views.push(['report', 'latest', ...(kind === 'suite' ? ['--format', 'html,md,junit,json'] : [])]);
  return views.map(args => world.proctor(args));
}

describe('a script cannot store or show', () => {
  test('a declared secret in any listed encoding, in streams, result or log', () => {
    const world = place();
    world.file(
      'leaks.py',
      `import os, base64, json, sys, urllib.parse
s = os.environ['MINE']
b = s.encode()
forms = [s, base64.b64encode(b'x' + b).decode(), base64.b64encode(b'xy' + b).decode(), base64.urlsafe_b64encode(b).decode(), b.hex(), b.hex().upper(),
  ''.join('\\\\u%04x' % ord(c) for c in s), ''.join('%%%02x' % c for c in b), ''.join('&#%d;' % ord(c) for c in s), s[::-1], json.dumps(s), repr(b)]
for form in forms:
    print(form); print(form, file=sys.stderr)
for c in s:
    sys.stdout.write(c); sys.stdout.flush()
print()
json.dump({'contract_version': 1, 'status': 'failed', 'html_output': '<p>' + ' '.join(forms) + '</p>', 'error_summary': 'Refused: ' + s,
  'artifacts': [], s: forms}, open('result.json', 'w'))
`,
    );
    const ran = world.proctor(['run', 'script', 'leaks.py', '--secret', 'MINE'], { env: { MINE: SECRET } });
    expect(ran.code, ran.stderr).toBe(1);
    expectNowhere([SECRET], world, [ran, ...looked(world)]);
  });

  test('well-known credentials, and the evidence counts them by kind', () => {
    const world = place();
    world.file('said.txt', `${TOKEN} ${KEY}\n${AWS}\n${PEM}\n`);
    world.file(
      'leaks.py',
      `import sys
said = open('input/said.txt').read()
print(said)
for letter in said:
    sys.stderr.write(letter); sys.stderr.flush()
`,
    );
    const ran = world.proctor(['run', 'script', 'leaks.py', '--input', 'said.txt', '--json']);
    expectNowhere(CREDENTIALS, world, [ran, ...looked(world)]);
    const show = JSON.parse(world.proctor(['show', 'latest', '--json']).stdout);
    expect(show.outcome.masking).toMatchObject({ credentials: 'masked', kinds: { private_key: expect.any(Number) } });
    expect(Object.keys(show.outcome.masking.kinds)).toEqual(
      expect.arrayContaining(['aws_access_key', 'github_token', 'openai_key']),
    );
  });

  test('credentials in an error summary, even if credentials are kept', () => {
    const world = place();
    const summary = `Login failed, password=hunter2 at /data/customers/x.csv with ${TOKEN}`;
    const result = { contract_version: 1, status: 'failed', html_output: '', error_summary: summary, artifacts: [] };
    world.file('result.json', JSON.stringify(result));
    world.file('fails.sh', 'cp input/result.json result.json\n');
    const args = ['run', 'script', 'fails.sh', '--input', 'result.json', '--keep-credentials', '--json'];
    const ran = world.proctor(args);
    expect(JSON.parse(ran.stdout).message).toBe("The script's message cannot be shown.");
    expect(world.proctor(['show', 'latest']).stdout).not.toMatch(/hunter2|customers/);
  });

  test('a file with a credential or a name such as .env, unless the evidence flags it; the file stays unchanged', () => {
    const world = place();
    world.file('said.txt', `token ${TOKEN}\n`);
    world.file(
      'leaves.sh',
      'mkdir -p output/.ssh; echo A=1 > output/.env; echo x > output/.ssh/id_rsa; cp input/said.txt output/notes.txt; echo fine > output/fine.txt\n',
    );
    const ran = world.proctor(['run', 'script', 'leaves.sh', '--input', 'said.txt', '--json']);
    const { folder, warnings } = JSON.parse(ran.stdout);
    expect(warnings).toEqual(
      expect.arrayContaining([
        expect.stringMatching(/^credential_in_file: .* one file$/),
        expect.stringMatching(/^credential_file_name: .* 2 files$/),
      ]),
    );
    const files = filesIn(path.join(world.cwd, folder));
    expect(files.get('output/notes.txt')?.toString()).toBe(`token ${TOKEN}\n`);
    const { outcome } = JSON.parse(world.proctor(['show', 'latest', '--json']).stdout);
    expect(outcome.masking.flagged).toEqual([
      { path: 'output/.env', code: 'credential_file_name', kinds: [] },
      { path: 'output/.ssh/id_rsa', code: 'credential_file_name', kinds: [] },
      { path: 'output/notes.txt', code: 'credential_in_file', kinds: ['github_token'] },
    ]);
    expect(world.proctor(['show', 'latest']).stdout).toMatch(/needs review.*output\/notes\.txt.*github_token/);
  });
});

describe('credentials are kept only on request', () => {
  const INTENT = {
    goal: 'Say a token',
    files: [{ path: 'said.txt', content: `${TOKEN}\n` }],
    commands: [{ argv: ['node', '-e', "process.stdout.write(require('fs').readFileSync('said.txt'))"] }],
    accept: [{ check: 'exit_code', equals: 0 }],
  };

  /** The text of all files with program output, and what the evidence says about masking. */
  const said = (folder: string): { readonly texts: string; readonly masking: unknown } => {
    const files = filesIn(folder);
    const texts = [...files].filter(([name]) => /stdout|transcript/.test(name)).map(([, bytes]) => bytes.toString());
    return { texts: texts.join('\n'), masking: JSON.parse(String(files.get('evidence/outcome.json'))).masking };
  };

  test('by run script; the evidence says so, and declared secrets are still masked', () => {
    const world = place();
    world.file('said.txt', `${TOKEN}\n`);
    world.file('leaks.sh', 'cat input/said.txt; echo "$MINE"\n');
    const args = [
      'run',
      'script',
      'leaks.sh',
      '--input',
      'said.txt',
      '--secret',
      'MINE',
      '--keep-credentials',
      '--json',
    ];
    const { folder } = JSON.parse(world.proctor(args, { env: { MINE: SECRET } }).stdout);
    const files = filesIn(path.join(world.cwd, folder));
    expect(files.get('evidence/steps/script/stdout.txt')?.toString()).toBe(`${TOKEN}\n[masked]\n`);
    expect(JSON.parse(String(files.get('evidence/outcome.json'))).masking).toMatchObject({
      credentials: 'kept',
      kinds: { declared_secret: 1 },
    });
  });

  test.each([
    [[], { texts: '[masked]\n', masking: { credentials: 'masked', kinds: { github_token: 1 } } }],
    [['--keep-credentials'], { texts: `${TOKEN}\n`, masking: { credentials: 'kept', kinds: {} } }],
  ])('by run intent and reproduce, with flags %j', (flags, expected) => {
    const world = place();
    world.file('intent.json', JSON.stringify(INTENT));
    const ran = world.proctor(['run', 'intent', 'intent.json', '--mode', 'execute-sandbox', ...flags]);
    expect(ran.code, ran.stderr).toBe(0);
    const again = world.proctor(['reproduce', 'latest', '--json']);
    expect(again.code, again.stderr).toBe(0);
    const folders = world.runFolders();
    expect(folders).toHaveLength(2);
    for (const folder of folders) expect(said(folder)).toMatchObject(expected);
  });

  test('by run agent, but declared secrets are still masked', () => {
    const world = new AgentWorld();
    const final = Buffer.from(`Done: ${TOKEN}`).toString('base64url');
    const task = `DO=tell:MINE DO=final:${final}`;
    const { folder, answer } = world.run('claude', task, ['--secret', 'MINE', '--keep-credentials'], { MINE: SECRET });
    expect(answer.final_response).toBe(`Done: ${TOKEN}`);
    const { texts, masking } = said(folder);
    expect(texts).toContain(TOKEN);
    expect(masking).toMatchObject({ credentials: 'kept' });
    expectNowhere([SECRET], world.place, [], /workspace\.diff$/);
  });
});

type Answers = (request: IncomingMessage, response: ServerResponse, body: string) => void;

async function serve(answers: Answers): Promise<string> {
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk: Buffer) => (body += chunk.toString()));
    request.on('end', () => answers(request, response, body));
  });
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => new Promise<void>(resolve => server.close(() => resolve())));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const reply = (content: string): string => JSON.stringify({ final_output: { content_type: 'text', content } });

async function asked(world: Place, url: string, flags: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<Ran> {
  world.file('cases.json', JSON.stringify([{ id: 'a', input: { user: 'Say what you know.' } }]));
  return world.start(['run', 'suite', 'cases.json', '--base-url', url, '--as', 'new', '--retries', '0', ...flags], env)
    .ended;
}

describe('a server cannot make Proctor store or show', () => {
  const BEARER = 'abc123-bare-token-77';
  const bodies: [string, (token: string) => string | Buffer][] = [
    ['as an answer', token => reply(`You are ${token}.`)],
    ['as an answer that encodes it', token => reply('@').replace('@', spellings(token)[5] as string)],
    ['in a body that is not an answer', token => `<html>${token}</html>`],
    ['in a body that is invalid JSON and encodes it', token => `{"x":"${spellings(token)[5]}`],
  ];

  test.each(bodies)('the bare token of an authorization header, sent back %s', async (_, body) => {
    const world = place();
    const url = await serve((request, response) => {
      response.end(body(String(request.headers.authorization).split(' ')[1] as string));
    });
    const ran = await asked(world, url, ['--header', 'Authorization: env:TOK'], { TOK: `Bearer ${BEARER}` });
    expectNowhere([BEARER], world, [ran, ...looked(world, 'suite')]);
  });

  test('the token in the status text, in headers, and in a redirect', async () => {
    const world = place();
    const url = await serve((request, response) => {
      const token = String(request.headers.authorization).split(' ')[1] as string;
      const location = `http://127.0.0.1:1/next?token=${token}&other=of-the-server-99`;
      response.writeHead(302, `Moved ${token}`, {
        location,
        'x-echo': token,
        [`x-${token}`]: 'y',
        'x-set': `a ${token}`,
      });
      response.end(`moved to ${token}`);
    });
    const ran = await asked(world, url, ['--header', 'Authorization: env:TOK'], { TOK: `Bearer ${BEARER}` });
    expectNowhere([BEARER, 'of-the-server-99'], world, [ran, ...looked(world, 'suite')]);
  });

  test('the token in a compressed answer, and in a truncated one', async () => {
    for (const isCut of [false, true]) {
      const world = place();
      const url = await serve((request, response) => {
        const token = String(request.headers.authorization).split(' ')[1] as string;
        const text = isCut ? `{"x":"${spellings(token)[5]} ${'y'.repeat(5_000)}` : reply(token);
        response.setHeader('content-encoding', 'gzip');
        response.end(gzipSync(text));
      });
      const flags = ['--header', 'Authorization: env:TOK', ...(isCut ? ['--max-body', '2000'] : [])];
      const ran = await asked(world, url, flags, { TOK: `Bearer ${BEARER}` });
      expectNowhere([BEARER], world, [ran, ...looked(world, 'suite')]);
    }
  });

  test('the decoded password of basic authentication', async () => {
    const world = place();
    const password = 'tr0ub4dor-and-3';
    const url = await serve((request, response) => {
      const basic = Buffer.from(String(request.headers.authorization).split(' ')[1] as string, 'base64').toString();
      response.end(reply(`${basic} ${basic.split(':')[1]}`));
    });
    const value = `Basic ${Buffer.from(`me:${password}`).toString('base64')}`;
    const ran = await asked(world, url, ['--header', 'Authorization: env:TOK'], { TOK: value });
    expectNowhere([password], world, [ran, ...looked(world, 'suite')]);
  });

  test('the value of a cookie', async () => {
    const world = place();
    const url = await serve((request, response) => {
      response.end(reply(String(request.headers.cookie).replace(/^.*sid=([^;]*).*$/, 'session $1')));
    });
    const ran = await asked(world, url, ['--header', 'Cookie: env:TOK'], { TOK: 'a=1; sid=session-of-mine-4711; b=2' });
    expectNowhere(['session-of-mine-4711'], world, [ran, ...looked(world, 'suite')]);
  });

  test('the query values of its address, which a run can still use', async () => {
    const world = place();
    const value = 'query-token-5150';
    const url = await serve((request, response) => {
      const token = new URL(request.url ?? '', 'http://x').searchParams.get('token');
      if (token === value) response.end(reply(`It was ${token}.`));
      else response.writeHead(401).end('no');
    });
    const ran = await asked(world, `${url}/agent?token=${value}`, ['--json']);
    expect(JSON.parse(ran.stdout).runs[0]).toMatchObject({ cases_completed: 1, cases_failed: 0 });
    expectNowhere([value], world, [ran, ...looked(world, 'suite')]);
    const refused = await asked(world, url.replace('//', `//me:${value}@`), []);
    expect(refused.code).toBe(2);
    expectNowhere([value], world, [refused]);
  });

  test('the query values of its address after an interruption; resume requires the address again', async () => {
    const world = place();
    const value = 'query-token-5150';
    let isOpen = false;
    let waiting = 0;
    const url = await serve((_, response, body) => {
      if (isOpen || body.includes('"first"')) response.end(reply('It is well.'));
      else waiting++;
    });
    world.file('cases.json', JSON.stringify(['first', 'second'].map(id => ({ id, input: { user: id } }))));
    const address = `${url}/agent?token=${value}`;
    const started = world.start(['run', 'suite', 'cases.json', '--base-url', address, '--as', 'new']);
    await until('the second case was sent', () => waiting > 0);
    started.kill('SIGINT');
    const stopped = await started.ended;
    expectNowhere([value], world, [stopped, world.proctor(['list'])]);
    isOpen = true;
    const without = await world.start(['run', 'suite', '--resume', 'latest']).ended;
    expect(without).toMatchObject({ code: 2, stderr: expect.stringContaining('--base-url') });
    const other = await world.start(['run', 'suite', '--resume', 'latest', '--base-url', `${url}/other?token=x`]).ended;
    expect(other.code).toBe(2);
    const resumed = await world.start(['run', 'suite', '--resume', 'latest', '--base-url', address]).ended;
    expect(resumed.code, resumed.stderr).toBe(0);
    expectNowhere([value], world, [without, other, resumed, ...looked(world, 'suite')]);
  });

  test('well-known credentials, and the artifact lists the masked kinds', async () => {
    const world = place();
    const url = await serve((_, response) => void response.end(reply(`${TOKEN} and ${PEM} and ${AWS}`)));
    const ran = await asked(world, url, ['--json']);
    expectNowhere(CREDENTIALS, world, [ran, ...looked(world, 'suite')]);
    const { folder } = JSON.parse(ran.stdout).runs[0];
    const artifact = JSON.parse(String(filesIn(path.join(world.cwd, folder)).get('a.json')));
    expect(artifact.final_output.redactions_applied).toEqual(['aws_access_key', 'github_token', 'private_key']);
    expect(artifact.attempts[0].masked).toEqual({ aws_access_key: 1, github_token: 1, private_key: 1 });
    expect(world.proctor(['verify', 'latest']).code).toBe(0);
  });
});

describe('an agent cannot make Proctor store or show', () => {
  test('the tokens of a login, whatever their source', () => {
    const world = new AgentWorld();
    const now = Math.floor(Date.now() / 1_000);
    const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
    const tokens = {
      access_token: `${part({ alg: 'none' })}.${part({ exp: now + 3_600 })}.the-seal-of-an-access-token-1`,
      refresh_token: 'a-refresh-token-that-renews-2',
      id_token: 'an-id-token-that-says-who-3',
      account_id: 'an-account-that-pays-4',
    };
    world.place.file('home/auth.json', JSON.stringify({ auth_mode: 'chatgpt', tokens }), 0o600);
    const told = Object.values(tokens).flatMap(token => [token, Buffer.from(token).toString('base64')]);
    const final = Buffer.from(`Done: ${told.join(' ')}`).toString('base64url');
    const task = `DO=final:${final} DO=on_stderr:${tokens.refresh_token} DO=write:notes-${tokens.account_id}.txt`;
    const env = { CODEX_HOME: path.join(world.place.cwd, 'home'), CHATGPT_BASE_URL: 'http://127.0.0.1:9' };
    const ran = world.run('codex', task, ['--login', 'codex'], env);
    expect(ran.answer.final_response?.match(/\[masked\]/g), ran.stderr).toHaveLength(8);
    expect(ran.answer['model_access']).toMatchObject({ credential: { from: 'login', name: 'codex' } });
    expectNowhere(Object.values(tokens), world.place, [ran, ...looked(world.place)], /workspace\.diff$/);
  });

  test.each(['claude', 'codex'] as const)('credentials and a secret in the output of %s', agent => {
    const world = new AgentWorld();
    const final = Buffer.from(`Done: ${TOKEN} ${AWS}\n${PEM}`).toString('base64url');
    const task = `DO=tell:MINE DO=final:${final} DO=on_stderr:${KEY} DO=write:notes-${TOKEN}.txt`;
    const ran = world.run(agent, task, ['--secret', 'MINE'], { MINE: SECRET });
    // The diff stays unchanged and is flagged.
    expectNowhere([...CREDENTIALS, SECRET], world.place, [ran, ...looked(world.place)], /workspace\.diff$/);
    expect(ran.answer.final_response).toMatch(/^Done: \[masked\] \[masked\]\n\[masked\]/);
  });
});
