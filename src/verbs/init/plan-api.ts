import { caseTexts } from './case-texts.ts';
import type { FoundServer } from './find-servers.ts';
import type { TargetPlan } from './plan.ts';
import { type Speech, unknownApi } from './speech.ts';
import type { Survey } from './survey.ts';
import { type StartBlock, targetBlocks } from './target-blocks.ts';

/** How to test an API: the one that the user named, else a running one, else the one that `npm run start` starts. */
export function planApi(url: string | undefined, survey: Survey): TargetPlan | undefined {
  const server =
    url === undefined ? likelyServer(survey) : survey.servers.find(({ origin }) => origin === originOf(url));
  if (server) return planned(heard(server, url), startOfServer(server, survey), `the API at ${server.origin}`);
  if (url !== undefined)
    return planned(unknownApi(originOf(url), pathOf(url)), undefined, `the API at ${originOf(url)}`);
  return survey.start && planned(startedApi(survey), startOfScript(survey), 'the API that `npm run start` starts');
}

/** Without a URL, a server counts if Proctor knows its protocol, or if the folder names its port. */
export function likelyServer({ servers }: Survey): FoundServer | undefined {
  return servers.find(({ speaks }) => speaks.kind !== 'unknown') ?? servers.find(({ isNamed }) => isNamed);
}

/** A path that the user named is better than a guess. */
function heard({ origin, speaks }: FoundServer, url: string | undefined): Speech {
  const path = url === undefined ? '' : pathOf(url);
  if (path === '' || speaks.url === `${origin}${path}`) return speaks;
  return speaks.kind === 'http' && speaks.operation.path === path ? speaks : unknownApi(origin, path);
}

function startOfServer({ isNamed, hasHealth }: FoundServer, { start }: Survey): StartBlock | undefined {
  return start && isNamed ? { run: NPM_START, isPortGiven: false, hasHealth, isReused: true } : undefined;
}

function startOfScript({ start }: Survey): StartBlock {
  return { run: NPM_START, isPortGiven: start?.port === undefined, hasHealth: false, isReused: false };
}

const NPM_START = ['npm', 'run', 'start'];

function startedApi({ start, description }: Survey): Speech {
  const url = `http://127.0.0.1:${start?.port ?? '${port}'}`;
  return description ? { kind: 'http', url, operation: description.operation } : unknownApi(url);
}

function planned(speech: Speech, start: StartBlock | undefined, what: string): TargetPlan {
  return {
    what,
    target: { name: 'agent', block: targetBlocks.speaking(speech, start) },
    cases: caseTexts.answers,
    repeat: 3,
    notes: [
      ...(speech.kind === 'unknown'
        ? ['Check request and reply in proctor.yaml: Proctor could not find out how this API takes a message.']
        : []),
      ...(start ? [] : ['Proctor does not start this API: keep it running during a test.']),
    ],
  };
}

function originOf(url: string): string {
  return new URL(url).origin;
}

function pathOf(url: string): string {
  return new URL(url).pathname.replace(/\/$/, '');
}
