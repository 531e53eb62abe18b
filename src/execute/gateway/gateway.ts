/** What Proctor knows about one model API: which requests it permits, and how to read bodies and answers. */
export interface Gateway {
  readonly name: string;
  /** All other requests are refused. */
  readonly endpoints: readonly Endpoint[];
  readonly body: BodyRules;
  /** Matches the model if it is in the path instead of the body. */
  readonly modelInPath?: RegExp;
  /** The header with which an agent enables features, and the features that Proctor removes. */
  readonly features?: { readonly header: string; readonly dropped: RegExp };
  /** Reads one event of a streamed answer, or a whole answer. */
  readonly hear: (event: Members) => AnswerPart;
}

export interface Endpoint {
  readonly method: 'GET' | 'POST';
  readonly path: RegExp;
  /** The whole query, without the question mark. Undefined means that the request must have no query. */
  readonly query?: RegExp;
  /** `ask` makes the model answer. Only these requests count towards budgets. */
  readonly use: 'ask' | 'count' | 'list';
  /** The provider stores the answer unless the request opts out. */
  readonly stores?: true;
}

/** What a body may contain if the network is denied. */
export interface BodyRules {
  /** Permitted top-level keys. A key in neither set is refused, so that no new feature passes unnoticed. */
  readonly keys: ReadonlySet<string>;
  /** Top-level keys that affect more than this request. They are permitted only as null or false. */
  readonly reach: ReadonlySet<string>;
  /** Returns the tool, a part of it, or undefined if the provider would run it. */
  readonly tool: (tool: Members, keep: ToolKeeper) => Members | undefined;
  /** Values of `type` that the provider would act on outside of `tools`. */
  readonly refusedTypes: RegExp;
  /** Keys whose values are the agent's data. No provider acts on them. */
  readonly data: ReadonlySet<string>;
  /** The same, but only in certain objects. */
  readonly isData?: (key: string, parent: Members) => boolean;
  /** The key that selects a tool, and the values of `type` that are permitted in it. */
  readonly choice?: { readonly key: string; readonly types: ReadonlySet<string> };
  /** Changes the body and returns the paths of the changes. */
  readonly force?: (body: Members, endpoint: Endpoint) => readonly string[];
  readonly refusedModels?: RegExp;
}

/** Filters a list of tools inside a tool. */
export type ToolKeeper = (tools: readonly unknown[]) => unknown[];

export type Members = Record<string, unknown>;

/** The facts that an answer reports. Undefined if not reported. */
export interface AnswerPart {
  readonly model?: string | undefined;
  /** Input tokens that were neither read from a cache nor written to one. */
  readonly input?: number | undefined;
  readonly cached?: number | undefined;
  readonly cacheWrite?: number | undefined;
  readonly output?: number | undefined;
  readonly isDone?: boolean;
  /** The answer is an error, although it started successfully. */
  readonly isError?: boolean;
}

/** The endpoint of a request; undefined if Proctor never permits it. */
export function endpointOf({ endpoints }: Gateway, method: string, url: string): Endpoint | undefined {
  const [path = '', query] = url.split(/\?(.*)/s);
  return endpoints.find(
    one =>
      one.method === method &&
      one.path.test(path) &&
      (query === undefined || query === '' || one.query?.test(query) === true),
  );
}
