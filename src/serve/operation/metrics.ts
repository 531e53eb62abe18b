import prometheus from 'prom-client';

/** The metrics of the server. No label names a run, a case or a person, so their number stays small. */
export class ServerMetrics {
  readonly #registry = new prometheus.Registry();
  readonly #refused: prometheus.Counter;

  constructor() {
    prometheus.collectDefaultMetrics({ register: this.#registry });
    this.#refused = new prometheus.Counter({
      name: 'proctor_refused_requests_total',
      help: 'Requests that the server refused.',
      labelNames: ['route', 'code'],
      registers: [this.#registry],
    });
  }

  refused(route: string, code: string): void {
    this.#refused.inc({ route, code });
  }

  async text(): Promise<{ readonly text: string; readonly type: string }> {
    return { text: await this.#registry.metrics(), type: this.#registry.contentType };
  }
}
