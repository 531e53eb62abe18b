import path from 'node:path';

/** One block of an answer, independent of the API. */
export type Block =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'command'; readonly command: string; readonly isBackground?: true }
  | { readonly kind: 'write'; readonly path: string; readonly content: string }
  | { readonly kind: 'skill'; readonly skill: string }
  /** Writes a file with the agent's file tool; `write` may use a command. */
  | { readonly kind: 'patch'; readonly path: string; readonly content: string }
  /** The tool with which each agent asks its user. */
  | { readonly kind: 'question'; readonly text: string };

export type Scenario =
  | { readonly how: 'answer'; readonly blocks: readonly Block[] }
  | { readonly how: 'refuse'; readonly status: number; readonly type: string; readonly message: string }
  | { readonly how: 'cut' }
  | { readonly how: 'silent' };

export interface Place {
  readonly wire: 'anthropic' | 'openai';
  readonly port: number;
  /** The agent's working folder. */
  readonly cwd: string;
}

export const FORGED_LINE = '{"type":"forged"}';
export const FINAL_TEXT = 'All done: final answer.';
const PLAN = { commands: [{ argv: ['node', '-e', 'console.log("planned by a model")'] }] };

/** Finds the proxy token, as any process in the sandbox can, and requests an upload with it. */
const UPLOAD = [
  String.raw`word=$(sed -n 's/.*"echo \([^"]*\)".*/\1/p' /opt/proctor/settings.json 2>/dev/null)`,
  String.raw`[ -n "$word" ] || word=$(cat /proc/[0-9]*/environ 2>/dev/null | tr '\0' '\n' | sed -n 's/^PROCTOR_MODEL_KEY=//p' | head -1)`,
  String.raw`ask='POST /v1/files HTTP/1.1\r\nhost: x\r\nx-api-key: %s\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}'`,
  String.raw`WORD="$word" ASK="$ask" bash -c 'exec 3<>/dev/tcp/127.0.0.1/8417; printf "$ASK" "$WORD" >&3; cat <&3'`,
].join('; ');

const say = (text: string): Scenario => ({ how: 'answer', blocks: [{ kind: 'text', text }] });
const run = (command: string): Scenario => ({ how: 'answer', blocks: [{ kind: 'command', command }] });
const inBackground = (command: string): Scenario => ({
  how: 'answer',
  blocks: [{ kind: 'command', command, isBackground: true }],
});
const write = (path: string): Scenario => ({
  how: 'answer',
  blocks: [{ kind: 'write', path, content: 'hello from the model\n' }],
});
const refuse = (status: number, type: string, message: string): Scenario => ({ how: 'refuse', status, type, message });

/** The model's first action. After its result the model reports success, unless the scenario repeats. */
const FIRST: Readonly<Record<string, (place: Place) => Scenario>> = {
  say: () => say(FINAL_TEXT),
  write: ({ cwd }) => write(`${cwd}/hello.txt`),
  bash: () => run('printf "hello from the model\\n" > hello.txt'),
  /** Next to the working folder, where it does no harm if nothing blocks it. */
  outside: ({ cwd }) => write(`${path.posix.dirname(cwd)}/outside.txt`.replace('//', '/')),
  outside_bash: () => run('echo escaped > ../outside.txt; echo "rc=$?"'),
  commit: () =>
    run(
      'echo committed > hello.txt && git add hello.txt && git -c user.name=a -c user.email=a@b commit -q -m one && echo OK',
    ),
  net: ({ port }) => run(`bash -c '(exec 3<>/dev/tcp/127.0.0.1/${port}) 2>&1' && echo NET-OK || echo NET-BLOCKED`),
  upload: () => run(UPLOAD),
  fail: () => run('echo broken; exit 3'),
  /** More than a pipe holds. */
  much: () => run('head -c 900000 /dev/zero | tr "\\0" x'),
  /** Writes to every process stream it can open, in the agent's name. */
  forge: () =>
    run(`for p in /proc/[0-9]*; do for n in 1 2; do echo '${FORGED_LINE}' >$p/fd/$n; done; done; echo tried`),
  loop: () => run('true'),
  /** One process that leaves its tool's session, and one that stays. Each has a unique duration. */
  sleep: ({ port }) => run(`setsid sleep ${sleepSeconds(port)} & sleep ${sleepSeconds(port)}`),
  /** A command that keeps running after the agent reports success. */
  background: ({ port }) => inBackground(`sleep ${sleepSeconds(port)}`),
  /** Starts the same command repeatedly; none ever ends. */
  background_loop: ({ port }) => inBackground(`sleep ${sleepSeconds(port)}`),
  /** A plan, in the form that models prefer. */
  plan: () => say(`\`\`\`json\n${JSON.stringify(PLAN)}\n\`\`\``),
  /** Only Claude has a skill tool; other agents read the file. */
  skill: () => ({ how: 'answer', blocks: [{ kind: 'skill', skill: 'project:greet' }] }),
  ask: () => ({ how: 'answer', blocks: [{ kind: 'question', text: 'Which colour should it be?' }] }),
  claim: () => say('I ran the tests. All tests pass.'),
  silent: () => ({ how: 'silent' }),
  cut: () => ({ how: 'cut' }),
  e400: () => refuse(400, 'invalid_request_error', 'The request makes no sense'),
  e401: () => refuse(401, 'authentication_error', 'Incorrect API key provided'),
  e429: () => refuse(429, 'rate_limit_error', 'Too many requests'),
  e500: () => refuse(500, 'api_error', 'Internal server error'),
  e529: () => refuse(529, 'overloaded_error', 'Overloaded'),
};
const ENDLESS: ReadonlySet<string> = new Set(['loop', 'background_loop']);

/** A sleep duration that no other process on the machine uses. */
export function sleepSeconds(port: number): number {
  return 300_000 + port;
}

/** Decodes the hexadecimal text after the first word, such as `sh_6c73`. */
const SPELT: Readonly<Record<string, (text: string) => Scenario>> = {
  sh: run,
  file: path => ({ how: 'answer', blocks: [{ kind: 'patch', path, content: 'hello\n' }] }),
  words: say,
};

function spelt(word: string): (() => Scenario) | undefined {
  const [, kind = '', hex = ''] = /^([a-z]+)_((?:[0-9a-f]{2})+)$/.exec(word) ?? [];
  const made = Object.hasOwn(SPELT, kind) ? SPELT[kind] : undefined;
  return made && (() => made(Buffer.from(hex, 'hex').toString()));
}

export function scenarioIn(word: string, results: number, place: Place): Scenario {
  const first = FIRST[word] ?? spelt(word);
  if (first === undefined) return refuse(400, 'invalid_request_error', `Unknown scenario: ${word}`);
  return results === 0 || ENDLESS.has(word) ? first(place) : say(FINAL_TEXT);
}
