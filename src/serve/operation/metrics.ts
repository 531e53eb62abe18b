import prometheus from 'prom-client';

/** The metrics of the server. No label names a run, a case or a person, so their number stays small. */
export class ServerMetrics {
  readonly registry = new prometheus.Registry();
  readonly #refused: prometheus.Counter;
  readonly #viewers = this.#gauge('proctor_viewers', 'Live views that are open.');
  readonly #folders = this.#gauge('proctor_run_folders', 'Run folders of the project.');
  readonly #orders = this.#gauge('proctor_orders', 'Orders of clients that wait or run.', ['kind', 'state']);

  constructor() {
    prometheus.collectDefaultMetrics({ register: this.registry });
    this.#refused = new prometheus.Counter({
      name: 'proctor_refused_requests_total',
      help: 'Requests that the server refused.',
      labelNames: ['route', 'code'],
      registers: [this.registry],
    });
  }

  refused(route: string, code: string): void {
    this.#refused.inc({ route, code });
  }

  /** Takes what the server knows at this moment. */
  sample({ viewers, runFolders, orders }: ServerSample): void {
    this.#viewers.set(viewers);
    this.#folders.set(runFolders);
    for (const kind of ['suite', 'intent', 'script'])
      for (const state of ['waiting', 'running'])
        this.#orders.set({ kind, state }, orders.filter(one => one.kind === kind && one.state === state).length);
  }

  async text(): Promise<{ readonly text: string; readonly type: string }> {
    return { text: await this.registry.metrics(), type: this.registry.contentType };
  }

  #gauge(name: string, help: string, labelNames: string[] = []): prometheus.Gauge {
    return new prometheus.Gauge({ name, help, labelNames, registers: [this.registry] });
  }
}

interface ServerSample {
  readonly viewers: number;
  readonly runFolders: number;
  readonly orders: readonly { readonly kind: string; readonly state: string }[];
}
