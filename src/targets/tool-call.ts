import type { DeclarationOf } from '../contracts/target/index.ts';
import { CallCompiler, type CallFields, type CallText, compileHeaders } from './calls.ts';
import type { TemplateValues } from './mapping/template-names.ts';

/** How to reach an MCP server, and which tool to call. */
export interface ToolCall {
  readonly server:
    | { readonly over: 'http'; readonly url: CallText; readonly headers: CallFields }
    | { readonly over: 'stdio'; readonly run: (values: TemplateValues) => string[]; readonly env: CallFields };
  readonly tool: string;
  readonly arguments: (values: TemplateValues) => Record<string, unknown>;
}

/** Compiles a declaration. Throws a TemplateError with the key that is wrong. */
export function compileToolCall(declaration: DeclarationOf<'mcp-tool'>): ToolCall {
  const { url, run = [], env = {}, tool } = declaration;
  const compiler = new CallCompiler(new Set());
  const given = compiler.tree(declaration.arguments, 'arguments');
  return {
    server:
      url === undefined
        ? { over: 'stdio', run: wordsOf(compiler.tree(run, 'run', isVariable)), env: textsOf(compiler, env) }
        : {
            over: 'http',
            url: compiler.text(url, 'url', 'none'),
            headers: compileHeaders(declaration, {}, compiler),
          },
    tool,
    arguments: values => given(values) as Record<string, unknown>,
  };
}

/** Only variables have a value before the first case. */
const isVariable = (name: string): boolean => name.startsWith('env:');

const wordsOf =
  (fill: (values: TemplateValues) => unknown) =>
  (values: TemplateValues): string[] =>
    (fill(values) as unknown[]).map(String);

function textsOf(compiler: CallCompiler, env: Readonly<Record<string, string>>): CallFields {
  const fill = compiler.tree(env, 'env', isVariable);
  return values => fill(values) as Record<string, string>;
}
