/** What the door knows about one model API: which requests it lets through, and how it reads their bodies and answers. */
export interface Gateway {
  readonly name: string;
  /** Everything else is refused. */
  readonly endpoints: readonly Endpoint[];
  readonly body: BodyRules;
  /** Where the model is named in the path and not in the body. */
  readonly modelInPath?: RegExp;
  /** A header in which an agent switches on features of the API, and the features that the door drops. */
  readonly features?: { readonly header: string; readonly dropped: RegExp };
  /** Reads one event of a streamed answer, or a whole answer. */
  readonly hear: (event: Members) => Heard;
}

export interface Endpoint {
  readonly method: 'GET' | 'POST';
  readonly path: RegExp;
  /** The query as a whole, without its question mark. Absent: there may be none. */
  readonly query?: RegExp;
  /** `ask` makes the model answer, and is what budgets count. */
  readonly use: 'ask' | 'count' | 'list';
  /** The provider stores the answer unless the request says otherwise. */
  readonly stores?: true;
}

/** What a body may hold where the network is denied. */
export interface BodyRules {
  /** Top-level keys that pass. A key in neither set is refused: a new feature must not pass by being new. */
  readonly keys: ReadonlySet<string>;
  /** Top-level keys that reach beyond this request. They pass only as null or false. */
  readonly reach: ReadonlySet<string>;
  /** What is left of a tool: the tool itself, a part of it, or nothing, where the provider would run it. */
  readonly tool: (tool: Members, keep: ToolKeeper) => Members | undefined;
  /** Values of `type` that the provider would act on, wherever they stand outside of `tools`. */
  readonly refusedTypes: RegExp;
  /** Keys whose values are data of the agent, which no provider acts on. */
  readonly data: ReadonlySet<string>;
  /** The same for one key in some places only. */
  readonly isData?: (key: string, parent: Members) => boolean;
  /** The key that says which tool to call, and the values of `type` in it that pass. */
  readonly choice?: { readonly key: string; readonly types: ReadonlySet<string> };
  /** Changes that the door makes; each gives the path of what it changed. */
  readonly force?: (body: Members, endpoint: Endpoint) => readonly string[];
  /** Models that search the network by themselves. */
  readonly refusedModels?: RegExp;
}

/** Judges a list of tools within a tool, and gives what is left of it. */
export type ToolKeeper = (tools: readonly unknown[]) => unknown[];

/** An object that was read from JSON. */
export type Members = Record<string, unknown>;

/** What an answer says about itself. Undefined is what it has not said. */
export interface Heard {
  readonly model?: string | undefined;
  /** Tokens of the request that were neither read from a cache nor written to one. */
  readonly input?: number | undefined;
  readonly cached?: number | undefined;
  readonly cacheWrite?: number | undefined;
  readonly output?: number | undefined;
  /** The last event has come. */
  readonly isDone?: boolean;
  /** The answer is an error, although it began as a good one. */
  readonly isError?: boolean;
}

/** The endpoint of a request; undefined where the door lets it through under no circumstances. */
export function endpointOf({ endpoints }: Gateway, method: string, url: string): Endpoint | undefined {
  const [path = '', query] = url.split(/\?(.*)/s);
  return endpoints.find(
    one =>
      one.method === method &&
      one.path.test(path) &&
      (query === undefined || query === '' || one.query?.test(query) === true),
  );
}
