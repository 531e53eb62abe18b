import type { ApiKind } from './kind.ts';

/** A custom API. The declaration describes everything. */
export const httpKind: ApiKind<'http'> = {
  request: ({ request }) => request,
  reply: ({ reply, stream }) => ({
    as: stream?.as ?? 'json',
    mapping: reply,
    ...(stream?.first_output !== undefined && { firstOutput: stream.first_output }),
  }),
};
