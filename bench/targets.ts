/**
 * `npm run bench:targets`: the rate of a suite with all evidence over a bare undici loop against the same agent, for the
 * suite alone and for the whole command, and the rate through `openai-chat` over that through Proctor's own protocol.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { Worker } from 'node:worker_threads';
import { Pool } from 'undici';
import { median } from './median.ts';
import { printRows } from './rows.ts';

const CONCURRENCY = 64;
const LATENCY_MS = 10;
const CASES = 10_000;
const ROUNDS = 7;
/**
 * In memory, if possible. On ext4, creating a file takes up to 40 times longer for minutes after many files were deleted,
 * so the disk would measure what ran before.
 */
const FILES_IN = existsSync('/dev/shm') ? '/dev/shm' : tmpdir();
const [role, ...rest] = process.argv.slice(2);

/** An agent that answers in both protocols with about 1 kB after LATENCY_MS. */
function agent(): void {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const body = JSON.parse(Buffer.concat(chunks).toString()) as Question;
      const text = JSON.stringify(request.url === '/run-case' ? protocolReply(body) : chatReply(body));
      setTimeout(() => response.writeHead(200, { 'content-type': 'application/json' }).end(text), LATENCY_MS);
    });
  });
  server.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}`));
}

interface Question {
  readonly case_id: string;
  readonly version: string;
  readonly input: { readonly user: string };
  readonly messages: readonly { readonly content: string }[];
}

function protocolReply({ case_id, version, input }: Question): object {
  return {
    case_id,
    version,
    workflow_id: 'echo',
    proposed_actions: [],
    events: [
      { type: 'tool_call', ts: 1, call_id: 'c1', tool: 'orders.get', args: { id: case_id } },
      { type: 'tool_result', ts: 2, call_id: 'c1', status: 'ok', latency_ms: 3, payload_summary: 'x'.repeat(200) },
    ],
    final_output: { content_type: 'text', content: `You said: ${input.user} ${'y'.repeat(300)}` },
  };
}

function chatReply({ messages }: Question): object {
  const call = {
    id: 'c1',
    type: 'function',
    function: { name: 'orders.get', arguments: `{"text":"${'x'.repeat(200)}"}` },
  };
  const content = `You said: ${messages[0]?.content ?? ''} ${'y'.repeat(300)}`;
  return {
    id: 'chatcmpl-1',
    object: 'chat.completion',
    model: 'bench',
    choices: [{ index: 0, message: { role: 'assistant', content, tool_calls: [call] }, finish_reason: 'stop' }],
    usage: { prompt_tokens: 10, completion_tokens: 20, total_tokens: 30 },
  };
}

/**
 * The minimum work: sends each request and reads the answer. With a folder, a thread also writes each answer to a file of
 * its own, as every suite must: without hashes, masking, a journal or a check.
 */
async function bare(url: string, folder: string | undefined): Promise<void> {
  const started = performance.now();
  const files = folder === undefined ? undefined : new Worker(WRITER, { eval: true, workerData: folder });
  const pool = new Pool(url, { connections: CONCURRENCY, pipelining: 1 });
  let next = 0;
  const worker = async (): Promise<void> => {
    while (next < CASES) {
      const id = `case-${next++}`;
      const body = JSON.stringify({ case_id: id, version: 'new', input: { user: `Question ${id}` } });
      const headers = { 'content-type': 'application/json' };
      const answer = await pool.request({ path: '/run-case', method: 'POST', headers, body });
      const text = await answer.body.text();
      files?.postMessage([id, text]);
    }
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, worker));
  await pool.close();
  if (files) {
    files.postMessage(null);
    await once(files, 'exit');
  }
  console.log(JSON.stringify({ ms: performance.now() - started }));
}

const WRITER = `
const { renameSync, writeFileSync } = require('node:fs');
const { parentPort, workerData } = require('node:worker_threads');
parentPort.on('message', message => {
  if (message === null) return parentPort.close();
  const file = workerData + '/' + message[0] + '.json';
  writeFileSync(file + '.part', message[1]);
  renameSync(file + '.part', file);
});
`;

async function main(): Promise<void> {
  const folder = mkdtempSync(path.join(FILES_IN, 'proctor-bench-'));
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
  const { url, child } = await startAgent();
  try {
    writeFileSync(path.join(folder, 'cases.jsonl'), `${Array.from({ length: CASES }, caseLine).join('\n')}\n`);
    writeFileSync(path.join(folder, 'protocol.json'), JSON.stringify({ kind: 'proctor', url }));
    writeFileSync(path.join(folder, 'chat.json'), JSON.stringify({ kind: 'openai-chat', url, model: 'bench' }));
    const rounds = Array.from({ length: ROUNDS }, () => ({
      bare: one(url),
      files: one(url, mkdtempSync(path.join(folder, 'files-'))),
      protocol: command(folder, 'protocol.json'),
      chat: command(folder, 'chat.json'),
    }));
    const ratio = (of: (round: (typeof rounds)[number]) => number): number => median(rounds.map(of));
    printRows('targets', [
      row(
        'suite with all evidence, rate ÷ bare undici',
        ratio(({ bare: least, protocol }) => least / protocol.suiteMs),
        0.75,
      ),
      row(
        'bare undici with a file per case, rate ÷ bare undici',
        ratio(({ bare: least, files }) => least / files),
      ),
      row(
        'suite with all evidence, rate ÷ bare undici with a file per case',
        ratio(({ files, protocol }) => files / protocol.suiteMs),
      ),
      row(
        'whole command, rate ÷ bare undici',
        ratio(({ bare: least, protocol }) => least / protocol.wholeMs),
        0.5,
      ),
      row(
        'openai-chat, rate ÷ proctor',
        ratio(({ protocol, chat }) => protocol.suiteMs / chat.suiteMs),
        0.8,
      ),
    ]);
  } finally {
    child.kill();
  }
}

function caseLine(_: unknown, index: number): string {
  return JSON.stringify({
    id: `case-${index}`,
    input: { user: `Question case-${index}` },
    expected: { contains: 'Question' },
  });
}

function one(url: string, ...folder: readonly string[]): number {
  const args = [import.meta.filename, 'bare', url, ...folder];
  const text = execFileSync(process.execPath, args, { encoding: 'utf8' });
  return (JSON.parse(text) as { ms: number }).ms;
}

/** The time of the suite, as its evidence states it, and of the whole command. */
function command(cwd: string, target: string): { readonly suiteMs: number; readonly wholeMs: number } {
  const started = performance.now();
  const args = ['run', 'suite', 'cases.jsonl', '--target', target, '--as', 'new', '--concurrency', String(CONCURRENCY)];
  const proctor = path.join(process.cwd(), 'dist', 'proctor.js');
  const text = execFileSync(process.execPath, [proctor, ...args, '--json'], { cwd, encoding: 'utf8' });
  const wholeMs = performance.now() - started;
  const { runs } = JSON.parse(text) as { runs: { duration_ms: number; cases_completed: number }[] };
  if (runs[0]?.cases_completed !== CASES) throw new Error('not every case has an answer');
  return { suiteMs: runs[0].duration_ms, wholeMs };
}

async function startAgent(): Promise<{ url: string; child: ChildProcess }> {
  const child = spawn(process.execPath, [import.meta.filename, 'agent'], { stdio: ['ignore', 'pipe', 'inherit'] });
  for await (const line of createInterface({ input: child.stdout })) return { url: line, child };
  throw new Error('the agent did not start');
}

function row(what: string, ratio: number, least?: number) {
  return {
    what: `${CASES} cases, ${CONCURRENCY} at once: ${what}`,
    ratio,
    bound: least === undefined ? '–' : `≥ ${least}`,
    holds: least === undefined || ratio >= least,
    detail: '',
  };
}

if (role === 'agent') agent();
else if (role === 'bare') await bare(rest[0] ?? '', rest[1]);
else await main();
