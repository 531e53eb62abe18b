import * as z from 'zod/mini';
import { between, count, filledText, matching, record, signalName } from '../shape.ts';
import { statedProvenance } from '../provenance.ts';
import { commandWords, durationWord, mappingPath, namedTexts, stateIn } from './words.ts';

const positive = () => z.int().check(z.gte(1));

const method = () => z.enum(['GET', 'POST', 'PUT', 'PATCH', 'DELETE']);

/** A custom request. `body` is a tree, so no value can break out of its string. */
export const requestShape = record({
  method: z.optional(method()),
  path: z.optional(z.string()),
  query: z.optional(namedTexts()),
  body: z.optional(z.unknown()),
});

const startShape = record({
  run: commandWords(),
  cwd: z.optional(filledText()),
  env: z.optional(namedTexts()),
  ready: z.optional(
    record({
      path: z.optional(matching(/^\//, 'a path that starts with a slash')),
      status: z.optional(z.int().check(z.gte(100), z.lte(599))),
      line: z.optional(filledText()),
      within: z.optional(durationWord()),
    }),
  ),
  stop: z.optional(record({ signal: z.optional(signalName()), within: z.optional(durationWord()) })),
  reuse: z.optional(z.enum(['never', 'if-running'])),
});

/** US dollars per million tokens. */
const priceShape = record({ input: between(0, 100_000), output: between(0, 100_000) });

/** The keys of every target. */
export const commonKeys = {
  /** Optional, because users write these files. */
  schema_version: z.optional(z.literal('target.v1')),
  name: z.optional(matching(/^[a-z][a-z0-9_-]{0,62}$/, 'a name of lower-case letters, digits, "-" and "_"')),
  timeout: z.optional(durationWord()),
  idle_timeout: z.optional(durationWord()),
  retries: z.optional(count()),
  concurrency: z.optional(positive()),
  replies: z.optional(z.enum(['strict', 'lenient'])),
  /** How to find out which agent this is. */
  version: z.optional(
    record({ run: z.optional(commandWords()), path: z.optional(z.string()), read: z.optional(mappingPath()) }),
  ),
  /** What the user states about the agent. */
  provenance: z.optional(statedProvenance),
  start: z.optional(startShape),
};

const sessionShape = record({ request: requestShape, take: mappingPath() });

/** The keys of targets that are reached by HTTP. */
export const httpKeys = {
  ...commonKeys,
  url: filledText(),
  headers: z.optional(namedTexts()),
  auth: z.optional(record({ bearer: filledText() })),
  /** Sent before every attempt. */
  reset: z.optional(z.union([requestShape])),
  /** The request that opens a session; without it, Proctor makes up an id for every attempt. */
  session: z.optional(sessionShape),
  price: z.optional(priceShape),
};

export const pollShape = record({
  id: mappingPath(),
  path: filledText(),
  every: z.optional(durationWord()),
  until: stateIn(),
  failed: z.optional(stateIn()),
});

export type TargetRequest = z.infer<typeof requestShape>;
export type TargetStart = z.infer<typeof startShape>;
export type TargetPoll = z.infer<typeof pollShape>;
export type TargetPrice = z.infer<typeof priceShape>;
