import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { ALL, answerOf, REPLY } from './http-apis.ts';
import type { OwnTransport, Stage, Told } from './kind.ts';
import { ownReply } from './proctor-agent.ts';

const ENV = { DESK_TOKEN: '${env:AGENT_TOKEN}' };

/** A program that prints one document, or writes it to the file that its first argument names. */
export const command: OwnTransport = {
  name: 'command',
  can: { ...ALL, stream: false },
  crashClass: 'schema_mismatch',
  declaration: () => ({
    kind: 'command',
    run: ['node', 'agent.mjs'],
    input: { question: '${input.user}' },
    env: ENV,
    reply: REPLY,
  }),
  stage: scenes => programStage(COMMAND, scenes, answerOf),
};

/** A function that returns a reply in Proctor's own form, and reports a failure as an exception. */
export const functionAgent: OwnTransport = {
  name: 'function',
  can: { ...ALL, stream: false },
  crashClass: 'schema_mismatch',
  declaration: () => ({ kind: 'function', module: './agent.mjs', export: 'answer', env: ENV }),
  stage: scenes => programStage(FUNCTION, scenes, ownReply),
};

function programStage(
  program: string,
  scenes: Readonly<Record<string, Told>>,
  replyOf: (told: Told) => unknown,
): Stage {
  const played = Object.entries(scenes).map(([id, told]) => [id, { ...told, reply: replyOf(told) }]);
  return {
    refused: [],
    async start(folder) {
      writeFileSync(path.join(folder, 'agent.mjs'), program);
      writeFileSync(path.join(folder, 'scenes.json'), JSON.stringify(Object.fromEntries(played)));
      return folder;
    },
  };
}

const PLAYS = `
import { readFileSync, writeFileSync } from 'node:fs';

function sceneOf(question) {
  if (!process.env.DESK_TOKEN) throw new Error('no token');
  const scene = JSON.parse(readFileSync('scenes.json', 'utf8'))[question.split(' ', 1)[0]];
  console.error('asked with', process.env.DESK_TOKEN);
  if (scene.crash === undefined) return scene;
  console.error(scene.crash);
  process.exit(3);
}
`;

const COMMAND = `${PLAYS}
const { reply } = sceneOf(JSON.parse(readFileSync(0, 'utf8')).question);
const [, , file] = process.argv;
if (file === undefined) console.log(JSON.stringify(reply));
else writeFileSync(file, JSON.stringify(reply));
`;

const FUNCTION = `${PLAYS}
export async function answer({ input }) {
  const { failure, reply } = sceneOf(input.user);
  if (failure !== undefined) throw new Error(failure);
  return reply;
}
`;
