import { Fault } from '../../base/fault.ts';
import { printable } from '../../base/printable.ts';
import {
  agentCost,
  agentOf,
  checkedWishes,
  type InitWishes,
  likelyScript,
  likelyServer,
  namedScript,
  type Survey,
} from '../../verbs/init/init.ts';
import type { TerminalQuestion, Questions } from '../options/questions.ts';
import { stderr } from '../text/out.ts';
import { COLUMNS, wrapped } from '../text/wrap.ts';

/** Asks what to test, where it is, and what to call it. A flag answers its question. */
export async function askWishes(questions: Questions, survey: Survey, wishes: InitWishes): Promise<InitWishes> {
  const kind = wishes.kind ?? (await askKind(questions, survey));
  const place = wishes.url ?? wishes.agent ?? wishes.script ?? (await questions.ask(placeQuestion(kind, survey)));
  const name = wishes.name ?? (await questions.ask({ text: `Name [${survey.name}]: `, otherwise: survey.name }));
  return { kind, name, ...(place !== '' && { [PLACES[kind]]: place }) };
}

type Kind = NonNullable<InitWishes['kind']>;

const PLACES = { http: 'url', agent: 'agent', script: 'script' } as const;
const ORDER: readonly Kind[] = ['http', 'agent', 'script'];

async function askKind(questions: Questions, survey: Survey): Promise<Kind> {
  const [agent] = survey.agents;
  const lines = [
    `  1  an agent or API over HTTP: ${printable(apiFound(survey))}`,
    `  2  a coding agent: ${survey.agents.length === 0 ? 'none on the PATH' : survey.agents.join(', ')}`,
    ...(agent === undefined ? [] : wrapped(agentCost(agent), COLUMNS - 5).map(line => `     ${line}`)),
    `  3  a script: ${printable(likelyScript(survey)?.file ?? 'an example')}`,
  ];
  stderr.write(`What do you want to test?\n${lines.join('\n')}\n`);
  const answer = await questions.ask({
    text: 'Number [1]: ',
    otherwise: '1',
    refuse: word => (/^[123]$/.test(word) ? undefined : 'Answer 1, 2 or 3.'),
  });
  return ORDER[Number(answer) - 1] as Kind;
}

function apiFound(survey: Survey): string {
  const server = likelyServer(survey);
  if (server) return server.speaks.url;
  return survey.start ? '`npm run start`' : 'an example';
}

function placeQuestion(kind: Kind, survey: Survey): TerminalQuestion {
  if (kind === 'agent') {
    const [agent = 'claude'] = survey.agents;
    return question(`Agent, claude or codex [${agent}]: `, agent, agentOf);
  }
  if (kind === 'script') {
    const script = likelyScript(survey)?.file ?? '';
    return question(`Script file [${script || 'an example'}]: `, script, script => namedScript(script, process.cwd()));
  }
  // An empty answer leaves the choice to init, which also knows how to start what it found.
  return question(`URL [${printable(apiFound(survey))}]: `, '', url => checkedWishes({ kind, url }));
}

/** A question that repeats until `check` accepts the answer. `check` throws a fault for any other. */
function question(text: string, otherwise: string, check: (answer: string) => unknown): TerminalQuestion {
  return {
    text,
    otherwise,
    refuse: answer => {
      if (answer === otherwise) return undefined;
      try {
        check(answer);
        return undefined;
      } catch (error) {
        if (error instanceof Fault) return error.message;
        throw error;
      }
    },
  };
}
