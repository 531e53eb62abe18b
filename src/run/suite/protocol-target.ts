import { caseUrl } from '../../contracts/suite/index.ts';
import { questionOf } from '../../targets/kinds/proctor.ts';
import { type HttpApi, httpTarget } from './http-target.ts';
import type { Target } from './target.ts';

export interface ProtocolAgent extends Omit<HttpApi, 'origin' | 'ask'> {
  readonly url: string;
  readonly runId: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** Asks an agent that speaks Proctor's own protocol. */
export function protocolTarget({ url, runId, headers, ...api }: ProtocolAgent): Target {
  const { origin, pathname, search } = new URL(caseUrl(url));
  const fixed = { ...headers, ...JSON_HEADERS };
  return httpTarget({
    ...api,
    origin,
    ask: async ({ one, key }, send) => {
      const body = questionOf(one, api.side, runId);
      const call = { path: pathname + search, headers: { ...fixed, 'idempotency-key': key }, body };
      return { answer: await send({ method: 'POST', ...call }) };
    },
  });
}

export const JSON_HEADERS = {
  'content-type': 'application/json',
  accept: 'application/json',
  'accept-encoding': 'identity',
};
