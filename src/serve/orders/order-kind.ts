import type { EndedLine, OrderLine, OrderedLine, OrderOwner } from './order-folder.ts';

/** What a kind of order needs to know about one order. */
export interface OrderToRun {
  readonly id: string;
  /** The folder of the order, with its files in `files/`. */
  readonly folder: string;
  readonly ordered: OrderedLine;
  readonly isLaid: boolean;
  /** This server stored it, so nothing of its run can exist yet. */
  readonly isNew: boolean;
  /** How often it began, including now. More than once after a crash of the server. */
  readonly begins: number;
  /** The process that ran it when the server was last alive. */
  readonly owner: OrderOwner | undefined;
}

export interface OrderRunning {
  /** Aborted when a client cancels the order. */
  readonly cancel: AbortSignal;
  /** Aborted when the server stops and leaves the run to its own process. */
  readonly leave: AbortSignal;
  readonly note: (line: OrderLine) => void;
}

/** How an order ended; undefined if its run continues without this server. */
export type OrderEnd = Pick<EndedLine, 'how' | 'message'> | undefined;

/** One kind of order: how to prepare and how to run it. */
export interface OrderKind {
  /** Orders of one lane share its slots. */
  readonly lane: 'suites' | 'intents';
  /** Whether its runs continue when the server stops. */
  readonly outlives: boolean;
  /** Checks and prepares the run, and throws a fault if it is refused. Does nothing if the run is prepared. */
  prepare(order: Omit<OrderToRun, 'begins'>): Promise<void>;
  run(order: OrderToRun, running: OrderRunning): Promise<OrderEnd>;
}

export type OrderKinds = Readonly<Partial<Record<OrderedLine['kind'], OrderKind>>>;
