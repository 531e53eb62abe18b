import * as z from 'zod/mini';
import { targetUrl } from '../artifacts/words.ts';
import { checkName } from '../check-result/shape.ts';
import { contentHashText, count, filledText, matching, record } from '../shape.ts';
import { declarationShape } from '../target/declaration.ts';

const headerName = () => matching(/^[a-z0-9!#$%&'*+.^_`|~-]{1,100}$/, 'a header name in lower case');

const replies = () => z.enum(['strict', 'lenient']);

const positive = () => z.int().check(z.gte(1));

export const suiteTargetShape = z.union([
  record({
    kind: z.literal('http'),
    url: targetUrl(),
    header_names: z.array(headerName()),
    redirects: z.boolean(),
    /** How replies were read, and that they are stored. Absent in older runs, which read strictly and stored none. */
    replies: z.optional(replies()),
  }),
  record({
    kind: z.literal('script'),
    name: filledText(),
    sha256: contentHashText(),
    bytes: count(),
    sandbox: z.enum(['none', 'process', 'container', 'vm']),
    isolation: z.enum(['strict', 'standard', 'none']),
  }),
  record({
    kind: z.literal('agent'),
    name: matching(/^[a-z][a-z0-9-]{0,30}$/, 'an agent name in lower case'),
    version: filledText(),
    /** The hash of its program. */
    sha256: contentHashText(),
    policy: filledText(),
    policy_sha256: contentHashText(),
    sandbox: z.enum(['none', 'process', 'container', 'vm']),
    isolation: z.enum(['strict', 'standard', 'none']),
    model: z.optional(filledText()),
    max_turns: z.optional(positive()),
    /** The model proxy counts requests, tokens and cost. */
    max_requests: z.optional(positive()),
    max_tokens: z.optional(positive()),
    max_cost_usd: z.optional(z.number().check(z.gte(0))),
    /** The hash of the prices that the proxy uses. */
    prices_sha256: z.optional(contentHashText()),
    /** Absent if the model is live and nothing is recorded. */
    model_mode: z.optional(z.enum(['record', 'replay'])),
    allow_untested_version: z.optional(z.literal(true)),
    /** The commit that every case starts from, unless it names its own. */
    base: z.optional(filledText()),
    /** What the suite and its cases add to the agent. The hashes show whether a hidden test or a dependency changed. */
    work: z.optional(
      record({
        agents: z.array(record({ name: filledText(), version: filledText(), sha256: contentHashText() })),
        policies: z.array(record({ name: filledText(), sha256: contentHashText() })),
        /** The checks of every case: the command, its limits and its hidden files. */
        checks: z.array(record({ name: checkName(), sha256: contentHashText() })),
        /** The mounts of every case, by the path that the agent sees. */
        mounts: z.array(record({ path: filledText(), sha256: contentHashText() })),
        /** The content of what cases name, by the path in the case file. */
        contents: z.array(
          record({
            of: z.enum(['overlay', 'files', 'mount', 'repository']),
            path: filledText(),
            sha256: contentHashText(),
          }),
        ),
      }),
    ),
  }),
  record({
    kind: z.literal('declared'),
    name: matching(/^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/, 'a name of letters, digits, ".", "_" and "-"'),
    replies: replies(),
    /** As written, with placeholders such as ${env:NAME} in place of secrets. */
    declaration: declarationShape,
    /** For a program: how it was isolated. */
    sandbox: z.optional(z.enum(['none', 'process'])),
    isolation: z.optional(z.enum(['strict', 'standard', 'none'])),
  }),
]);

export type SuiteTarget = z.infer<typeof suiteTargetShape>;

/** Whether runs of a target store its replies. Scripts and agents store theirs in runs of their own. */
export function storesReplies(target: SuiteTarget): boolean {
  return 'replies' in target && target.replies !== undefined;
}

/** The target as run.json names it. */
export function targetName(target: SuiteTarget): string {
  if (target.kind === 'http') return target.url;
  return target.kind === 'declared' ? declaredName(target) : `${target.kind}:${target.name}`;
}

/** The URL of a declared target, unless it has placeholders. */
function declaredName({ name, declaration }: Extract<SuiteTarget, { kind: 'declared' }>): string {
  const url = 'url' in declaration ? declaration.url : undefined;
  return url === undefined || url.includes('${') || !/^https?:/.test(url) ? `target:${name}` : url;
}

/** The kind of a target, as users name it. */
export function kindName(target: SuiteTarget): string {
  return target.kind === 'declared' ? target.declaration.kind : target.kind;
}

/** The address to which the cases were sent, as failures state it. */
export function askedAt(target: SuiteTarget): string {
  return target.kind === 'http' ? caseUrl(target.url) : targetName(target);
}

export function caseUrl(baseUrl: string): string {
  const url = new URL(baseUrl);
  url.pathname = `${url.pathname.replace(/\/$/, '')}/run-case`;
  return url.href;
}
