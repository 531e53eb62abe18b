import type { ApiKind } from './kind.ts';

/** An API of the user's own. The declaration says everything. */
export const httpKind: ApiKind<'http'> = {
  request: ({ request }) => request,
  reply: ({ reply, stream }) => ({
    as: stream?.as ?? 'json',
    mapping: reply,
    ...(stream?.first_output !== undefined && { firstOutput: stream.first_output }),
  }),
};
