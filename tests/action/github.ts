import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';

interface Comment {
  readonly id: number;
  body: string;
  readonly user: { readonly login: string; readonly type: 'Bot' | 'User' };
}

interface Fault {
  readonly status: number;
  readonly headers?: Record<string, string>;
  /** The request works, but its answer gets lost. */
  readonly afterwards?: true;
}

/** A small stand-in for the part of the GitHub API that comments need. */
export class FakeGitHub {
  readonly comments: Comment[] = [];
  readonly requests: string[] = [];
  /** By token. The token of a workflow has no user. */
  readonly tokens: Record<string, { login?: string; mayWrite: boolean }> = { good: { mayWrite: true } };
  /** What to answer instead, by the start of "METHOD /path". Each is used once. */
  readonly faults: { on: string; fault: Fault }[] = [];
  url = '';
  #lastId = 1_000;

  static async start(): Promise<FakeGitHub> {
    const github = new FakeGitHub();
    const server = createServer((request, response) => void github.#answer(request, response));
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => {
      server.closeAllConnections();
      server.close();
    });
    github.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    return github;
  }

  add(body: string, user: Comment['user'] = WORKFLOW): Comment {
    const comment = { id: ++this.#lastId, body, user };
    this.comments.push(comment);
    return comment;
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const asked = `${request.method} ${request.url}`;
    this.requests.push(asked);
    const index = this.faults.findIndex(({ on }) => asked.startsWith(on));
    const [found] = index < 0 ? [] : this.faults.splice(index, 1);
    const answer =
      found?.fault.afterwards || !found ? this.#result(request, Buffer.concat(chunks).toString()) : undefined;
    const { status, json } = found ? { status: found.fault.status, json: { message: 'Fault' } } : (answer as Result);
    response.writeHead(status, { 'content-type': 'application/json', ...found?.fault.headers });
    response.end(JSON.stringify(json));
  }

  #result(request: IncomingMessage, text: string): Result {
    const { method, headers } = request;
    const { pathname, searchParams } = new URL(request.url ?? '', this.url);
    const token = this.tokens[headers.authorization?.replace('Bearer ', '') ?? ''];
    if (!token) return refused(401, 'Bad credentials');
    if (pathname === '/user') {
      return token.login === undefined
        ? refused(403, 'Resource not accessible by integration')
        : { status: 200, json: { login: token.login } };
    }
    const user = token.login === undefined ? WORKFLOW : ({ login: token.login, type: 'User' } as const);
    if (pathname === '/repos/team/desk/issues/7/comments' && method === 'GET') {
      const [page, perPage] = [Number(searchParams.get('page')), Number(searchParams.get('per_page'))];
      return { status: 200, json: this.comments.slice((page - 1) * perPage, page * perPage) };
    }
    const { body } = JSON.parse(text || '{}') as { body?: unknown };
    const [, id] = /^\/repos\/team\/desk\/issues\/comments\/(\d+)$/.exec(pathname) ?? [];
    const isCreation = pathname === '/repos/team/desk/issues/7/comments' && method === 'POST';
    if (!isCreation && (id === undefined || method !== 'PATCH')) return refused(404, 'Not Found');
    if (!token.mayWrite) return refused(403, 'Resource not accessible by integration');
    if (typeof body !== 'string' || body === '' || [...body].length > 65_536) return refused(422, 'Validation Failed');
    if (isCreation) return { status: 201, json: this.add(body, user) };
    const comment = this.comments.find(one => one.id === Number(id));
    if (!comment) return refused(404, 'Not Found');
    comment.body = body;
    return { status: 200, json: comment };
  }
}

interface Result {
  readonly status: number;
  readonly json: unknown;
}

const WORKFLOW = { login: 'github-actions[bot]', type: 'Bot' } as const;

function refused(status: number, message: string): Result {
  return { status, json: { message } };
}
