// One comment per pull request: found by a hidden marker, and updated instead of repeated.
import { setTimeout as sleep } from 'node:timers/promises';
import { cut } from './action-text.mjs';

/**
 * Writes the comment. Returns whether it worked, and a sentence that says what it did. A refused request does not throw,
 * because a comment must never fail a pipeline.
 */
export async function writeComment({ api, token, repository, number, name, runId, text, footer, wait = sleep }) {
  if (!token) return failed('There is no token, so Proctor writes no comment. Set github-token.');
  const github = new GitHub(api, token, repository);
  const body = commentBody({ name, runId, text, footer });
  for (let attempt = 1; ; attempt++) {
    const outcome = await written(github, { number, name, runId, body }).catch(error => {
      if (error instanceof Refused) return error;
      throw error;
    });
    if (!(outcome instanceof Refused)) return outcome;
    if (!outcome.mayPass || attempt === ATTEMPTS_MAX) return failed(outcome.message);
    const waitMs = outcome.waitMs ?? 1_000 * 2 ** (attempt - 1);
    if (waitMs > WAIT_MS_MAX) return failed(outcome.message);
    await wait(waitMs);
  }
}

const ATTEMPTS_MAX = 4;
const WAIT_MS_MAX = 60_000;

/** GitHub's limit for the body of a comment. */
const BODY_CHARACTERS_MAX = 65_536;

function commentBody({ name, runId, text, footer }) {
  const marker = `${markerOf(name)} run ${runId} -->`;
  const room = BODY_CHARACTERS_MAX - marker.length - footer.length - 3;
  return `${marker}\n${cut(text, room, CUT_MARK)}\n\n${footer}`;
}

const CUT_MARK =
  '*The rest is cut, because a comment can have at most 65,536 characters. The full report has everything.*';

/** The start of the marker. The rest is the run, so that an older run never replaces the comment of a newer one. */
function markerOf(name) {
  return `<!-- proctor ${name}`;
}

/** Looks for the comment again in every attempt: a request that seemed to fail may have written it. */
async function written(github, { number, name, runId, body }) {
  const own = await github.login();
  const found = await github.findComment(number, one => isOurs(one, own) && markedRun(one.body, name) !== undefined);
  if (!found) return created(github, number, body);
  if ((markedRun(found.body, name) ?? 0) > Number(runId)) return done('A newer run has already written the comment.');
  if (found.body === body) return done('The comment is up to date.');
  const status = await github.update(found.id, body);
  // The comment was deleted in the meantime.
  if (status === 404) return created(github, number, body);
  return done('Proctor updated its comment on the pull request.');
}

async function created(github, number, body) {
  await github.create(number, body);
  return done('Proctor wrote a comment on the pull request.');
}

/** Anyone can write the marker. So a comment by another user is not ours, even if the token can edit it. */
function isOurs({ user }, own) {
  return own === undefined ? user?.type === 'Bot' : user?.login === own;
}

/** The run that wrote a comment; undefined if it has another marker. */
function markedRun(body, name) {
  const start = `${markerOf(name)} run `;
  if (typeof body !== 'string' || !body.startsWith(start)) return undefined;
  const [, run] = /^(\d{1,16}) -->/.exec(body.slice(start.length, start.length + 24)) ?? [];
  return run === undefined ? undefined : Number(run);
}

/** The few requests that a comment needs. */
class GitHub {
  #api;
  #token;
  #repository;

  constructor(api, token, repository) {
    this.#api = api.replace(/\/+$/, '');
    this.#token = token;
    this.#repository = repository;
  }

  /** The user of the token; undefined for the token of a workflow, which belongs to a bot. */
  async login() {
    const { status, json } = await this.#send('GET', '/user', undefined, [200, 403, 404]);
    return status === 200 && typeof json?.login === 'string' ? json.login : undefined;
  }

  async findComment(number, isIt) {
    for (let page = 1; page <= PAGES_MAX; page++) {
      const { json } = await this.#send('GET', `${this.#issues}/${number}/comments?per_page=${PER_PAGE}&page=${page}`);
      if (!Array.isArray(json)) throw new Refused('GitHub sent no list of comments, so Proctor writes none.');
      const found = json.find(one => Number.isSafeInteger(one?.id) && isIt(one));
      if (found || json.length < PER_PAGE) return found;
    }
    return undefined;
  }

  async create(number, body) {
    await this.#send('POST', `${this.#issues}/${number}/comments`, { body }, [201]);
  }

  async update(id, body) {
    const { status } = await this.#send('PATCH', `${this.#issues}/comments/${id}`, { body }, [200, 404]);
    return status;
  }

  get #issues() {
    return `/repos/${this.#repository}/issues`;
  }

  async #send(method, path, body, expected = [200]) {
    let response;
    let text;
    try {
      response = await fetch(`${this.#api}${path}`, {
        method,
        redirect: 'manual',
        signal: AbortSignal.timeout(REQUEST_MS_MAX),
        headers: {
          accept: 'application/vnd.github+json',
          authorization: `Bearer ${this.#token}`,
          'user-agent': 'proctor',
          'x-github-api-version': '2022-11-28',
          ...(body && { 'content-type': 'application/json' }),
        },
        ...(body && { body: JSON.stringify(body) }),
      });
      text = await limitedText(response);
    } catch (cause) {
      throw new Refused('GitHub could not be reached, so Proctor writes no comment.', { mayPass: true, cause });
    }
    const { status } = response;
    if (isLimited(response)) throw new Refused(RATE_LIMIT, { mayPass: true, waitMs: waitMsOf(response) });
    if (!expected.includes(status)) throw refusalOf(status);
    return { status, json: jsonOf(text) };
  }
}

const PER_PAGE = 100;
const PAGES_MAX = 30;
const REQUEST_MS_MAX = 20_000;
const RESPONSE_BYTES_MAX = 32 * 1024 * 1024;

const RATE_LIMIT = "GitHub's request limit is used up, so Proctor writes no comment.";

/** A failed request. `mayPass` says whether a retry may succeed. */
class Refused extends Error {
  constructor(message, { mayPass = false, waitMs, cause } = {}) {
    super(message, { cause });
    this.mayPass = mayPass;
    this.waitMs = waitMs;
  }
}

function refusalOf(status) {
  if (status >= 500)
    return new Refused(`GitHub failed with status ${status}, so Proctor writes no comment.`, { mayPass: true });
  return new Refused(REFUSALS[status] ?? `GitHub answered with status ${status}, so Proctor writes no comment.`);
}

const MAY_NOT =
  'The token cannot write comments, so Proctor writes none. Pull requests from forks have no other token. Elsewhere, add "pull-requests: write" to the permissions.';

const REFUSALS = {
  401: 'GitHub does not accept the token, so Proctor writes no comment.',
  403: MAY_NOT,
  404: MAY_NOT,
  422: 'GitHub does not accept the comment, so Proctor writes none.',
};

function isLimited({ status, headers }) {
  if (status === 429) return true;
  return status === 403 && (headers.has('retry-after') || headers.get('x-ratelimit-remaining') === '0');
}

function waitMsOf({ headers }) {
  const seconds = Number(headers.get('retry-after') ?? Number.NaN);
  if (seconds >= 0) return seconds * 1_000;
  const reset = Number(headers.get('x-ratelimit-reset') ?? Number.NaN);
  return reset > 0 ? Math.max(1_000, reset * 1_000 - Date.now()) : undefined;
}

async function limitedText(response) {
  let text = '';
  const decoder = new TextDecoder();
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length;
    if (bytes > RESPONSE_BYTES_MAX) throw new Error('The response is too large.');
    text += decoder.decode(chunk, { stream: true });
  }
  return text;
}

function jsonOf(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function done(message) {
  return { isWritten: true, message };
}

function failed(message) {
  return { isWritten: false, message };
}
