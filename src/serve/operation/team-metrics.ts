import prometheus from 'prom-client';
import { monotonicMs } from '../../base/clock.ts';
import type { AttemptClaim, QueueOverview, Settlement } from '../../queue/queue.ts';

/**
 * What a server sees of the queue of a team: the requests of its own workers, and the overview. It does not open what
 * workers report, and never counts what happens without it.
 */
export class TeamMetrics {
  readonly #attempts: prometheus.Counter;
  readonly #late: prometheus.Counter;
  readonly #bytes: prometheus.Counter;
  readonly #errors: prometheus.Counter;
  readonly #attemptS: prometheus.Histogram;
  readonly #callS: Readonly<Record<'claim' | 'settle', prometheus.Histogram>>;
  readonly #gauges: Readonly<Record<keyof typeof GAUGES, prometheus.Gauge>>;
  /** When this server gave out each claim. Workers may never settle one, so it forgets the oldest. */
  readonly #givenMs = new Map<string, number>();
  /** The claims that were counted, because a worker may repeat a settlement. */
  readonly #counted = new Set<string>();

  readonly #onAnswer: () => void;

  /** Calls `onAnswer` whenever the queue has answered. */
  constructor(registry: prometheus.Registry, onAnswer: () => void = () => undefined) {
    this.#onAnswer = onAnswer;
    const registers = [registry];
    const counter = (name: string, help: string, labelNames: string[] = []) =>
      new prometheus.Counter({ name, help, labelNames, registers });
    const histogram = (name: string, help: string, buckets: number[], labelNames: string[] = []) =>
      new prometheus.Histogram({ name, help, buckets, labelNames, registers });
    this.#attempts = counter('proctor_attempts_total', HELP.attempts, ['kind', 'outcome']);
    this.#late = counter('proctor_late_settlements_total', HELP.late);
    this.#bytes = counter('proctor_store_bytes_total', HELP.bytes, ['direction']);
    this.#errors = counter('proctor_database_errors_total', HELP.errors);
    this.#attemptS = histogram('proctor_attempt_seconds', HELP.attemptS, ATTEMPT_S, ['kind']);
    this.#callS = {
      claim: histogram('proctor_claim_seconds', HELP.claimS, CALL_S),
      settle: histogram('proctor_settle_seconds', HELP.settleS, CALL_S),
    };
    this.#gauges = Object.fromEntries(
      Object.entries(GAUGES).map(([key, { name, help, labelNames }]) => [
        key,
        new prometheus.Gauge({ name, help, labelNames: [...labelNames], registers }),
      ]),
    ) as Record<keyof typeof GAUGES, prometheus.Gauge>;
  }

  /** Counts a failure of the queue. */
  async watched<Answer>(call: Promise<Answer>): Promise<Answer> {
    try {
      const answer = await call;
      this.#onAnswer();
      return answer;
    } catch (error) {
      this.#errors.inc();
      throw error;
    }
  }

  /** Does the same, and measures how long the queue takes to answer. */
  async timed<Answer>(what: 'claim' | 'settle', call: Promise<Answer>): Promise<Answer> {
    const startMs = monotonicMs();
    const answer = await this.watched(call);
    this.#callS[what].observe((monotonicMs() - startMs) / 1_000);
    return answer;
  }

  given(claims: readonly AttemptClaim[]): void {
    for (const { id } of claims) remember(this.#givenMs, id, monotonicMs());
  }

  /** Counts what the workers of this server ended, and what the queue refused. */
  settled(settlements: readonly Settlement[], taken: ReadonlySet<string>): void {
    for (const { claim, end } of settlements) {
      const { id, request } = claim;
      if (this.#counted.has(id)) continue;
      if (!taken.has(request.key)) {
        this.#late.inc();
        continue;
      }
      this.#counted.add(id);
      if (this.#counted.size > CLAIMS_KEPT) this.#counted.delete(this.#counted.values().next().value as string);
      const kind = kindOf(request.needs);
      this.#attempts.inc({ kind, outcome: end.is });
      const givenMs = this.#givenMs.get(id);
      this.#givenMs.delete(id);
      // A claim from before a restart has an unknown age.
      if (givenMs !== undefined && end.is === 'reported')
        this.#attemptS.observe({ kind }, (monotonicMs() - givenMs) / 1_000);
    }
  }

  moved(direction: 'read' | 'written', bytes: number): void {
    this.#bytes.inc({ direction }, bytes);
  }

  /** Shows the queue, or nothing of it while it cannot be reached. */
  sample(overview: QueueOverview | undefined, waitingWorkers: number): void {
    for (const gauge of Object.values(this.#gauges)) gauge.reset();
    const { reachable, asking, waiting, oldest, lost, slots, workers } = this.#gauges;
    reachable.set(overview ? 1 : 0);
    asking.set(waitingWorkers);
    // A gauge without labels would show 0.
    lost.remove();
    if (!overview) return;
    for (const row of boundedNeeds(overview.needs)) {
      waiting.set({ needs: row.needs }, row.waiting);
      if (row.oldestWaitingMs !== null) oldest.set({ needs: row.needs }, Math.max(0, row.oldestWaitingMs) / 1_000);
    }
    lost.set(overview.lostLastHour);
    const total = overview.workers.reduce((sum, one) => sum + one.slots, 0);
    const busy = overview.workers.reduce((sum, one) => sum + one.active, 0);
    slots.set({ state: 'busy' }, busy);
    slots.set({ state: 'free' }, Math.max(0, total - busy));
    const working = overview.workers.filter(({ active }) => active > 0).length;
    workers.set({ state: 'busy' }, working);
    workers.set({ state: 'idle' }, overview.workers.length - working);
  }
}

const HELP = {
  attempts: 'Attempts that workers of this server ended: reported, or handed back before anything was sent.',
  late: 'Settlements that the queue refused, because the attempt was lost or withdrawn before.',
  bytes: 'Bytes of blobs that workers read from the store or wrote to it through this server.',
  errors: 'Failed calls of this server to the queue.',
  attemptS: 'Seconds from when this server gave out an attempt until its worker reported it.',
  claimS: 'Seconds that the queue took to answer a claim that does not wait.',
  settleS: 'Seconds that the queue took to store settlements.',
} as const;

const GAUGES = {
  reachable: { name: 'proctor_queue_reachable', help: 'Whether the queue answers.', labelNames: [] },
  asking: { name: 'proctor_waiting_workers', help: 'Workers that wait at this server.', labelNames: [] },
  waiting: { name: 'proctor_queue_waiting', help: 'Attempts that wait.', labelNames: ['needs'] },
  oldest: {
    name: 'proctor_queue_oldest_seconds',
    help: 'How long the oldest waiting attempt waits.',
    labelNames: ['needs'],
  },
  lost: { name: 'proctor_queue_lost_last_hour', help: 'Attempts lost in the last hour.', labelNames: [] },
  slots: { name: 'proctor_slots', help: 'Slots of the workers of the queue.', labelNames: ['state'] },
  workers: {
    name: 'proctor_workers',
    help: 'Workers of the queue that were seen in the last minute.',
    labelNames: ['state'],
  },
} as const;

const CALL_S = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const ATTEMPT_S = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1_800, 3_600];
const CLAIMS_KEPT = 100_000;
const NEEDS_MAX = 50;
const NEEDS_CHARS_MAX = 100;
const OTHER = 'other';
const KINDS: ReadonlySet<string> = new Set(['http', 'script', 'agent']);

/** Who offers an attempt chooses what it needs, so only known kinds become labels. */
function kindOf(needs: string): string {
  const [kind = ''] = needs.split(/[/+]/);
  return KINDS.has(kind) ? kind : OTHER;
}

/** The needs with the most waiting attempts, with short names. The others are one row. */
function boundedNeeds(needs: QueueOverview['needs']): readonly NeedsSample[] {
  const rows = new Map<string, NeedsSample>();
  const largest = needs.toSorted((a, b) => b.waiting - a.waiting);
  for (const [index, row] of largest.entries()) {
    const name = index < NEEDS_MAX ? row.needs.slice(0, NEEDS_CHARS_MAX) : OTHER;
    const known = rows.get(name);
    const ages = [known?.oldestWaitingMs ?? null, row.oldestWaitingMs].filter(ms => ms !== null);
    rows.set(name, {
      needs: name,
      waiting: (known?.waiting ?? 0) + row.waiting,
      oldestWaitingMs: ages.length === 0 ? null : Math.max(...ages),
    });
  }
  return [...rows.values()];
}

interface NeedsSample {
  readonly needs: string;
  readonly waiting: number;
  readonly oldestWaitingMs: number | null;
}

function remember(map: Map<string, number>, key: string, value: number): void {
  map.set(key, value);
  if (map.size > CLAIMS_KEPT) map.delete(map.keys().next().value as string);
}
