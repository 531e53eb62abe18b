import * as z from 'zod/mini';
import { canonicalize } from '../../base/canonical.ts';
import { systemClock } from '../../base/clock.ts';
import { bytesHash } from '../../base/hash.ts';
import { newRunId } from '../../base/ids.ts';
import { profileShape } from '../../contracts/profile/shape.ts';
import { record } from '../../contracts/shape.ts';
import { type NamedBytes, type RemoteIntent, remoteProfile } from '../../verbs/remote-intent.ts';
import type { NewOrder } from './order-terms.ts';
import { orderedFile } from './suite-order.ts';

/** The body of `POST /v1/intents`. Keys have the names of the flags of `proctor run intent`. */
export const intentOrderShape = record({
  intent: orderedFile,
  answers: z.optional(orderedFile),
  mode: z.optional(z.enum(['plan-only', 'execute-sandbox'])),
  /** The name of a built-in profile, or a profile. */
  profile: z.optional(z.union([z.enum(['strict', 'default', 'dev']), profileShape])),
});

/** What the journal of an intent order stores. Its files are `intent`, `answers` and `profile`. */
export interface IntentOrderInput {
  readonly intent: string;
  readonly answers: string | null;
  readonly mode: RemoteIntent['mode'];
}

export function remoteIntentOf(body: z.infer<typeof intentOrderShape>): RemoteIntent {
  const { intent, answers, mode = 'plan-only', profile = 'default' } = body;
  return { intent: named(intent), answers: answers ? named(answers) : null, profile: remoteProfile(profile), mode };
}

function named({ name, text }: z.infer<typeof orderedFile>): NamedBytes {
  return { name, bytes: Buffer.from(text) };
}

/** The order of an intent, as the queue takes it. */
export function intentOrderOf(remote: RemoteIntent, by: string, key: string | null): NewOrder {
  const { intent, answers, profile, mode } = remote;
  const input: IntentOrderInput = { intent: intent.name, answers: answers?.name ?? null, mode };
  const files = [
    { name: 'intent', bytes: intent.bytes },
    ...(answers ? [{ name: 'answers', bytes: answers.bytes }] : []),
    { name: 'profile', bytes: Buffer.from(canonicalize(profile)) },
  ];
  const hashes = files.map(({ name, bytes }) => [name, bytesHash(bytes)]);
  return {
    id: newRunId('intent', systemClock),
    kind: 'intent',
    by,
    key,
    digest: bytesHash(Buffer.from(canonicalize([input, hashes]))),
    input: { ...input },
    files,
  };
}
