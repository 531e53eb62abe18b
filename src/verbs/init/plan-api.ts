import { caseTexts } from './case-texts.ts';
import type { FoundServer } from './find-servers.ts';
import type { FoundStart } from './find-start.ts';
import type { TargetPlan } from './plan.ts';
import { type Speech, unknownApi } from './speech.ts';
import type { Survey } from './survey.ts';
import { type StartBlock, targetBlocks } from './target-blocks.ts';

/** How to test an API: the one that the user named, else a running one, else the one that `npm run start` starts. */
export function planApi(url: string | undefined, survey: Survey): TargetPlan | undefined {
  const origin = url === undefined ? undefined : new URL(url).origin;
  const server = origin === undefined ? likelyServer(survey) : survey.servers.find(one => one.origin === origin);
  const path = url === undefined ? '' : new URL(url).pathname.replace(/\/$/, '');
  if (server) {
    const speech = described(heard(server, path), path, survey);
    return planned(speech, startOfServer(server, survey), `the API at ${server.origin}`);
  }
  if (origin !== undefined) {
    return planned(described(unknownApi(origin, path), path, survey), undefined, `the API at ${origin}`);
  }
  if (!survey.start) return undefined;
  const started = unknownApi(`http://127.0.0.1:${survey.start.port ?? '${port}'}`);
  return planned(described(started, '', survey), startOfScript(survey.start), 'the API that `npm run start` starts');
}

/**
 * Without a URL, a server whose port the folder names. Any other may belong to another project. It counts only if
 * Proctor knows its protocol, and the folder has files but nothing to start.
 */
export function likelyServer({ servers, start, isEmpty }: Survey): FoundServer | undefined {
  const own = servers.filter(({ isNamed }) => isNamed);
  const known = own.length === 0 && !start && !isEmpty ? servers : own;
  return known.find(({ speaks }) => speaks.kind !== 'unknown') ?? own[0];
}

/** A path that the user named is better than a guess. */
function heard({ origin, speaks }: FoundServer, path: string): Speech {
  if (path === '' || speaks.url === `${origin}${path}`) return speaks;
  return speaks.kind === 'http' && speaks.operation.path === path ? speaks : unknownApi(origin, path);
}

/** The OpenAPI file of the folder describes an API that does not describe itself, unless the user named another path. */
function described(speech: Speech, path: string, { description }: Survey): Speech {
  if (speech.kind !== 'unknown' || !description) return speech;
  const { operation } = description;
  return path === '' || path === operation.path ? { kind: 'http', url: speech.url, operation } : speech;
}

function startOfServer({ isNamed, hasHealth }: FoundServer, { start }: Survey): StartBlock | undefined {
  return start && isNamed ? { run: NPM_START, isPortGiven: false, hasHealth, isReused: true } : undefined;
}

function startOfScript({ port }: FoundStart): StartBlock {
  return { run: NPM_START, isPortGiven: port === undefined, hasHealth: false, isReused: false };
}

const NPM_START = ['npm', 'run', 'start'];

function planned(speech: Speech, start: StartBlock | undefined, what: string): TargetPlan {
  return {
    what,
    target: { name: 'agent', block: targetBlocks.speaking(speech, start) },
    cases: caseTexts.answers,
    repeat: REPEAT,
    isGuessed: speech.kind === 'unknown',
    notes: [
      ...(speech.kind === 'unknown'
        ? [
            'Proctor could not find out how this API takes a message. Check request and reply in proctor.yaml with `proctor try agent "Hello"`.',
          ]
        : []),
      `Each test sends ${REPEAT} messages to it.`,
      ...(start ? [] : ['Proctor does not start this API: keep it running during a test.']),
    ],
  };
}

const REPEAT = 3;
