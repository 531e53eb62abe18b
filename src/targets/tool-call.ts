import type { DeclarationOf } from '../contracts/target/index.ts';
import { CallCompiler, type CallFields, type CallText, compileHeaders } from './calls.ts';
import type { Template } from './mapping/template.ts';
import type { TemplateValues } from './mapping/template-names.ts';
import { compileWords } from './mapping/words-template.ts';

/** How to reach an MCP server, and which tool to call. */
export interface ToolCall {
  readonly server:
    | { readonly over: 'http'; readonly url: CallText; readonly headers: CallFields }
    | { readonly over: 'stdio'; readonly run: readonly string[]; readonly env: CallFields };
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
        ? {
            over: 'stdio',
            run: wordsOf(compileWords(run, { allowed: () => false, place: 'run' })),
            env: textsOf(compiler, env),
          }
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

function wordsOf(template: Template): string[] {
  const filled = template.fillIn({});
  return filled.ok ? (filled.value as string[]) : [];
}

function textsOf(compiler: CallCompiler, env: Readonly<Record<string, string>>): CallFields {
  const fill = compiler.tree(env, 'env', isVariable);
  return values => fill(values) as Record<string, string>;
}
