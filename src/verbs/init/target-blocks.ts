import { yamlWord, yamlWords } from './yaml-text.ts';
import type { ChatOperation } from './openapi.ts';
import type { Speech } from './speech.ts';
import type { AgentName } from './look.ts';

/** How Proctor starts a server: a program, and how to tell that it is ready. */
export interface StartBlock {
  readonly run: readonly string[];
  /** Whether the agent reads its port from PORT. */
  readonly isPortGiven: boolean;
  readonly hasHealth: boolean;
  /** Whether to use a server that already listens there. */
  readonly isReused: boolean;
}

/** Each block is the text below the name of a target, indented by four. */
export const targetBlocks = {
  speaking(speech: Speech, start: StartBlock | undefined): string {
    return lines(`kind: ${speech.kind === 'unknown' ? 'http' : speech.kind}`, `url: ${yamlWord(speech.url)}`, [
      ...(start ? startLines(start) : []),
      ...ownKeys(speech),
    ]);
  },

  example(file: string): string {
    const start = startLines({ run: ['node', file], isPortGiven: true, hasHealth: true, isReused: false });
    return lines('kind: http', 'url: http://127.0.0.1:${port}', start, EXAMPLE);
  },

  agent(agent: AgentName): string {
    return lines('kind: agent', `agent: ${agent}`, [
      '# read-only lets the agent look, and edit lets it change files. It works on a private copy of the last commit.',
      'policy: read-only',
      'dir: .',
      '# These limits apply to each attempt.',
      `max_turns: ${AGENT_LIMITS.maxTurns}`,
      ...(agent === 'claude' ? [`max_cost_usd: ${AGENT_LIMITS.maxCostUsd.toFixed(2)}`] : []),
      `timeout: ${AGENT_LIMITS.timeout}`,
    ]);
  },

  script(file: string): string {
    return lines('kind: script', `file: ${yamlWord(file)}`, [
      '# The script runs in a sandbox: it reads input/case.json and writes output/reply.json.',
      'profile: strict',
    ]);
  },

  command(run: readonly string[]): string {
    return lines('kind: command', `run: ${yamlWords(run)}`, [
      '# The program runs in a sandbox. It reads the message from standard input, and prints the answer.',
      'input: "${input.user}"',
      'timeout: 60s',
    ]);
  },
};

const EXAMPLE = [
  '# One request per case. Put ${input.user} where your agent expects the message.',
  'request:',
  '  path: /chat',
  '  body: { message: "${input.user}" }',
  '# Where the answer and the tool calls are in the JSON that comes back.',
  'reply:',
  '  final_output: $.answer',
  '  events:',
  '    - { as: tool_call, each: "$.calls[*]", call_id: "@.id", tool: "@.tool", args: "@.args" }',
];

/** What one attempt of an agent may use. */
export const AGENT_LIMITS = { maxTurns: 10, maxCostUsd: 0.5, timeout: '5m' } as const;

function ownKeys(speech: Speech): string[] {
  if (speech.kind === 'openai-chat') return [`model: ${yamlWord(speech.model)}`];
  if (speech.kind === 'a2a') return [`protocol: "${speech.protocol}"`];
  if (speech.kind === 'http') return operationLines(speech.operation);
  return speech.kind === 'unknown' ? unknownLines(speech.path) : [];
}

function operationLines({ path, ask, answer }: ChatOperation): string[] {
  return [
    '# One request per case, and where the answer is in the JSON that comes back.',
    'request:',
    `  path: ${yamlWord(path)}`,
    `  body: { ${yamlWord(ask)}: "\${input.user}" }`,
    'reply:',
    `  final_output: $.${answer}`,
  ];
}

function unknownLines(path: string): string[] {
  return [
    '# Proctor could not find out how this API takes a message, or where its answer is. Check both, with',
    '# `proctor try agent "Hello"`.',
    'request:',
    `  path: ${yamlWord(path)}`,
    '  body: { message: "${input.user}" }',
    'reply:',
    `  final_output: { first_of: [${['answer', 'reply', 'response', 'output', 'message', 'text'].map(key => `$.${key}`).join(', ')}] }`,
  ];
}

function startLines({ run, isPortGiven, hasHealth, isReused }: StartBlock): string[] {
  return [
    isReused
      ? '# Proctor uses the agent if it is running. Otherwise it starts the agent, and stops it after the test.'
      : '# Proctor starts the agent, waits until it is ready, and stops it after the test.',
    'start:',
    `  run: ${yamlWords(run)}`,
    ...(isPortGiven ? ['  env: { PORT: "${port}" }'] : []),
    `  ready: { ${hasHealth ? 'path: /health, ' : ''}within: 60s }`,
    ...(isReused ? ['  reuse: if-running'] : []),
  ];
}

function lines(...parts: (string | readonly string[])[]): string {
  return parts
    .flat()
    .map(line => `    ${line}\n`)
    .join('');
}
