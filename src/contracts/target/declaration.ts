import * as z from 'zod/mini';
import { anyObject, filledText, record } from '../shape.ts';
import { commonKeys, httpKeys, pollShape, requestShape } from './keys.ts';
import { mappingShape } from './mapping.ts';
import { commandWords, mappingPath, namedTexts, stateIn } from './words.ts';

/** The keys of APIs that serve a model. */
const modelKeys = {
  ...httpKeys,
  model: filledText(),
  system: z.optional(filledText()),
  stream: z.optional(z.boolean()),
  /** More keys of the request, such as temperature. */
  parameters: z.optional(anyObject()),
};

/** The keys of programs that run once per attempt. Paths are relative to the folder of the target file. */
const programKeys = {
  ...commonKeys,
  env: z.optional(namedTexts()),
  sandbox: z.optional(z.enum(['process', 'none'])),
  /** Blocked by default in a sandbox. Without a sandbox, it cannot be blocked. */
  network: z.optional(z.enum(['allow', 'block'])),
  reply: z.optional(mappingShape),
};

/** One variant per kind. An editor offers only the keys of that kind. */
export const declarationShape = z.union([
  record({ kind: z.literal('proctor'), ...httpKeys }),
  record({
    kind: z.literal('http'),
    ...httpKeys,
    request: requestShape,
    reply: mappingShape,
    stream: z.optional(
      record({
        as: z.enum(['sse', 'ndjson']),
        first_output: z.optional(mappingPath()),
        /** The frame that ends the stream; without it, a server that dies between two frames seems to have finished. */
        until: z.optional(stateIn()),
      }),
    ),
    poll: z.optional(pollShape),
  }),
  record({ kind: z.literal('openai-chat'), ...modelKeys }),
  record({ kind: z.literal('openai-responses'), ...modelKeys }),
  record({ kind: z.literal('anthropic-messages'), ...modelKeys }),
  record({ kind: z.literal('langgraph'), ...httpKeys, assistant: filledText(), input: z.optional(anyObject()) }),
  record({ kind: z.literal('a2a'), ...httpKeys, protocol: z.optional(z.enum(['1.0', '0.3'])) }),
  record({ kind: z.literal('ag-ui'), ...httpKeys, state: z.optional(anyObject()) }),
  record({
    kind: z.literal('mcp-tool'),
    ...httpKeys,
    url: z.optional(filledText()),
    run: z.optional(commandWords()),
    env: z.optional(namedTexts()),
    tool: filledText(),
    arguments: anyObject(),
    reply: z.optional(mappingShape),
  }),
  record({
    kind: z.literal('websocket'),
    ...httpKeys,
    /** The messages to send, one after the other. */
    send: z.array(z.unknown()).check(z.minLength(1), z.maxLength(100)),
    /** The message that ends the reply; without it, the server closes the connection. */
    until: z.optional(stateIn()),
    first_output: z.optional(mappingPath()),
    reply: mappingShape,
  }),
  record({
    kind: z.literal('command'),
    ...programKeys,
    run: commandWords(),
    /** What the program reads from standard input: a text, or a tree that becomes JSON. */
    input: z.optional(z.unknown()),
    /** The name of a file that the program writes to ${output}; standard output by default. */
    output: z.optional(filledText()),
  }),
  record({
    kind: z.literal('function'),
    ...programKeys,
    module: filledText(),
    export: z.optional(filledText()),
  }),
]);

export type TargetDeclaration = z.infer<typeof declarationShape>;

export type DeclaredKind = TargetDeclaration['kind'];

/** The declaration of one kind. */
export type DeclarationOf<Kind extends DeclaredKind> = Extract<TargetDeclaration, { kind: Kind }>;
