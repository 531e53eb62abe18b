import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { temporaryFolder } from '../../support/support.ts';

/** A help desk that knows two answers. It runs until Proctor stops it. */
const AGENT = `
import { createServer } from 'node:http';
const answers = { 'When do you open?': 'We open at 9.', 'Can I return it?': 'Yes, within 30 days.' };
createServer((request, response) => {
  if (request.url === '/health') return response.end('ok');
  const chunks = [];
  request.on('data', chunk => chunks.push(chunk));
  request.on('end', () => {
    const { message } = JSON.parse(Buffer.concat(chunks).toString());
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ answer: answers[message] ?? 'I do not know.' }));
  });
}).listen(Number(process.env.PORT), '127.0.0.1');
`;

/** The same help desk as a script. */
const SCRIPT = `#!/usr/bin/env node
import { readFileSync } from 'node:fs';
const { case_id, version, input } = JSON.parse(readFileSync('input/case.json', 'utf8'));
const content = input.user === 'When do you open?' ? 'We open at 9.' : 'Yes, within 30 days.';
console.log(JSON.stringify({ case_id, version, final_output: { content_type: 'text', content } }));
`;

const CASES = `schema_version: cases.v1
cases:
  - id: opening
    input: { user: When do you open? }
    expected: { must_include: ["9"] }
  - id: returns
    input: { user: Can I return it? }
    expected: { must_include: ["30 days"] }
`;

const target = (file: string): string => `kind: http
    url: http://127.0.0.1:\${port}
    start: { run: [node, ${file}], env: { PORT: "\${port}" }, ready: { path: /health, within: 60s } }
    request: { path: /chat, body: { message: "\${input.user}" } }
    reply: { final_output: $.answer }`;

export const PROJECT = `schema_version: project.v1
targets:
  desk:
    ${target('agent.mjs')}
  worse:
    ${target('worse.mjs')}
suites:
  desk:
    cases: proctor/cases.yaml
    target: desk
gate: { limits: { max_failing: 0 } }
`;

export const WORSE = AGENT.replace('30 days', '14 days');

/** A project folder with an agent, cases and a project file. */
export function projectFolder(project = PROJECT): string {
  const dir = temporaryFolder();
  mkdirSync(path.join(dir, 'proctor'));
  writeFileSync(path.join(dir, 'proctor.yaml'), project);
  writeFileSync(path.join(dir, 'proctor', 'cases.yaml'), CASES);
  writeFileSync(path.join(dir, 'agent.mjs'), AGENT);
  writeFileSync(path.join(dir, 'worse.mjs'), WORSE);
  writeFileSync(path.join(dir, 'desk-script.mjs'), SCRIPT);
  return dir;
}
