import { rmSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { instantText, systemClock } from '../../base/clock.ts';
import { Fault } from '../../base/fault.ts';
import { takeOrdersLock } from '../../verbs/orders-lock.ts';
import type { Person } from '../access/identity.ts';
import { BusyFault } from '../operation/busy-fault.ts';
import { createOrder, noteOrder, type OrderedLine } from './order-folder.ts';
import type { OrderEnd, OrderRunning } from './order-kind.ts';
import { type NewOrder, type OrdersOptions, type OrderView, refuseFull } from './order-terms.ts';
import { Order } from './order.ts';
import { storedOrder, storedOrders } from './stored-orders.ts';

/*
 * What is written, in this order. The server may be killed between any two steps.
 *
 *  1. the folder of the order and its files   No line `ordered` yet: the next server removes the folder.
 *  2. `ordered`                               The next server continues here, although no client got an answer.
 *  3. the run folder of a suite               Half of it: `prepare` removes it and starts again. All of it: used as it is.
 *  4. `laid`                                  The client gets its answer after this line.
 *  5. `begun`                                 No process and no run folder of an intent: it begins again.
 *  6. the process of a suite, or an intent    A second process of one suite ends at once, because of the lock of its run.
 *  7. `started`                               The next server watches this process, or resumes the suite if it is dead.
 *  8. the seal of the run                     The next server sees a finished run.
 *  9. `ended`
 */

/** Everything that waits for this server or runs for it. One server per project takes orders. */
export class Orders {
  readonly #options: OrdersOptions;
  readonly #orders = new Map<string, Order>();
  readonly #lock: ReturnType<typeof takeOrdersLock>;
  readonly #leave = new AbortController();
  #isDraining = false;

  /** Reads the orders of earlier servers. Call `start` to continue them. */
  constructor(options: OrdersOptions) {
    this.#options = options;
    this.#lock = takeOrdersLock(options.root);
    if (!this.#lock) options.log.note('orders_taken', { message: ANOTHER });
    else for (const order of storedOrders(options.root, options.log)) this.#orders.set(order.id, order);
  }

  /** Continues what earlier servers began, and starts what waits. */
  start(): void {
    for (const order of this.#inOrder()) if (order.state === 'waiting' && order.begins > 0) this.#begin(order);
    this.#pump();
  }

  /** Stores an order. The same order with the same key or run id is stored once. */
  async place(asked: NewOrder, quotas?: Person['quotas']): Promise<OrderView> {
    this.#checkOpen();
    const known = this.#orders.get(asked.id) ?? this.#withKey(asked);
    if (known) {
      if (known.ordered.by !== asked.by || known.ordered.digest !== asked.digest)
        throw new Fault('run_exists', 'Another order has this run id or key. Use another one.');
      await known.ready;
      return this.#view(known);
    }
    this.#checkRoom({ id: asked.by, quotas });
    const { id, files, ...rest } = asked;
    const ordered: OrderedLine = { is: 'ordered', at: instantText(systemClock.now()), ...rest };
    const folder = path.join(this.#options.root, id);
    createOrder(folder, files, ordered);
    const order = new Order(id, folder, {
      ordered,
      waitsSince: ordered.at,
      isLaid: false,
      begins: 0,
      owner: undefined,
      ended: undefined,
    });
    this.#orders.set(id, order);
    order.ready = this.#prepare(order);
    await order.ready;
    this.#pump();
    return this.#view(order);
  }

  async #prepare(order: Order): Promise<void> {
    order.isPreparing = true;
    order.isNew = true;
    try {
      await this.#kindOf(order).prepare(order);
    } catch (error) {
      this.#orders.delete(order.id);
      rmSync(order.folder, { recursive: true, force: true });
      throw error;
    } finally {
      order.isPreparing = false;
    }
    order.isNew = false;
    // The run is prepared. If the line cannot be written, it is written when the run begins.
    this.#tryTo('lay_order', order, () => order.note({ is: 'laid' }));
  }

  /** Returns whether the act succeeded. A failing disk must not end the server. */
  #tryTo(what: string, { id }: Order, act: () => void): boolean {
    try {
      act();
      return true;
    } catch (cause) {
      const fault = cause instanceof Fault ? cause : new Fault('storage_failed', UNWRITTEN, { cause });
      this.#options.log.fault(what, id, fault);
      return false;
    }
  }

  /** Orders a run again that was interrupted. */
  again(id: string, who: Pick<Person, 'id' | 'quotas'>, ordered: OrderedLine): OrderView {
    this.#checkOpen();
    this.#checkRoom(who);
    const known = this.#orders.get(id);
    if (known && known.state !== 'ended') return this.#view(known);
    if (known && known.ordered.input['lane'] !== ordered.input['lane'])
      throw new Fault(
        'run_exists',
        'Another run with this id was ordered. Resume this one with proctor run suite --resume.',
      );
    const folder = path.join(this.#options.root, id);
    const at = instantText(systemClock.now());
    if (!known) createOrder(folder, [], ordered);
    noteOrder(folder, { is: 'again', at, by: who.id });
    const order = storedOrder(this.#options.root, id, this.#options.log) as Order;
    this.#orders.set(id, order);
    this.#pump();
    return this.#view(order);
  }

  /** Cancels an order, and waits until its run has stopped. */
  async cancel(id: string): Promise<OrderView | undefined> {
    const order = this.#orders.get(id);
    if (!order || order.state === 'ended') return undefined;
    await order.ready;
    if (order.state === 'waiting') {
      // If the write fails, the order keeps waiting, and the client gets the error.
      order.end({ how: 'cancelled', message: null });
      this.#ended(order);
    } else {
      order.cancel.abort();
      const isOver = await Promise.race([order.over, wait(CANCEL_MS, 'late', { ref: false })]);
      if (isOver === 'late')
        throw new Fault('still_running', 'The run was told to stop, but is still running. Look at it again later.');
    }
    this.#pump();
    return this.#view(order);
  }

  find(id: string): OrderView | undefined {
    const order = this.#orders.get(id);
    return order && this.#view(order);
  }

  /** The orders that wait or run, oldest first. */
  open(): readonly Pick<Order, 'id' | 'ordered' | 'state'>[] {
    return this.#inOrder().filter(({ state }) => state !== 'ended');
  }

  /** The intents that wait or begin, oldest first. Their runs may have no folder yet. */
  openIntents(): string[] {
    return this.open().flatMap(({ id, ordered }) => (ordered.kind === 'intent' ? [id] : []));
  }

  #view(order: Order): OrderView {
    const { how = null, message = null } = order.ended ?? {};
    const position = order.state === 'waiting' ? this.#positionOf(order) : null;
    return { run_id: order.id, state: order.state, position, how, message };
  }

  #positionOf(order: Order): number {
    const { lane } = this.#kindOf(order);
    const isBefore = (one: Order): boolean => one.age <= order.age && this.#kindOf(one).lane === lane;
    return [...this.#orders.values()].filter(one => one.state === 'waiting' && isBefore(one)).length;
  }

  /**
   * Begins no more orders. Intents may finish within the time, and are then stopped. Suites continue in their own
   * processes, unless `stopRuns` interrupts them.
   */
  async drain(drainMs: number, stopRuns: boolean): Promise<void> {
    this.#isDraining = true;
    const running = [...this.#orders.values()].filter(({ state }) => state === 'running');
    const staying = running.filter(order => !this.#kindOf(order).outlives);
    const outliving = running.filter(order => this.#kindOf(order).outlives);
    if (stopRuns) for (const order of outliving) order.interrupt();
    const mine = stopRuns ? running : staying;
    await Promise.race([Promise.all(mine.map(({ over }) => over)), wait(drainMs, undefined, { ref: false })]);
    for (const { cancel } of staying) cancel.abort();
    await Promise.race([Promise.all(mine.map(({ over }) => over)), wait(CANCEL_MS, undefined, { ref: false })]);
    this.#leave.abort();
    await Promise.race([Promise.all(running.map(({ over }) => over)), wait(CANCEL_MS, undefined, { ref: false })]);
    this.#lock?.close();
  }

  #pump(): void {
    if (this.#isDraining || !this.#lock) return;
    for (const order of this.#inOrder()) {
      if (order.state !== 'waiting' || order.isPreparing) continue;
      const { lane } = this.#kindOf(order);
      const running = [...this.#orders.values()].filter(
        one => one.state === 'running' && this.#kindOf(one).lane === lane,
      );
      if (running.length < this.#options.limits.atOnce[lane]) this.#begin(order);
    }
  }

  #begin(order: Order): void {
    const { log } = this.#options;
    if (!this.#tryTo('begin_order', order, () => order.begin())) {
      setTimeout(() => this.#pump(), AGAIN_MS).unref();
      return;
    }
    log.note('order_begun', { run_id: order.id, kind: order.ordered.kind });
    const running = { cancel: order.cancel.signal, leave: this.#leave.signal, note: order.note.bind(order) };
    order.over = this.#untilOver(order, running);
  }

  async #untilOver(order: Order, running: OrderRunning): Promise<void> {
    let end: OrderEnd;
    try {
      end = await this.#kindOf(order).run(order, running);
    } catch (cause) {
      const fault = cause instanceof Fault ? cause : new Fault('bug', 'The server hit an internal error.', { cause });
      this.#options.log.fault('order', order.id, fault);
      end = { how: 'failed', message: fault.message };
    }
    // The next server resumes what this one interrupted.
    if (end && !(order.isInterrupted && end.how === 'cancelled')) this.#end(order, end);
    this.#pump();
  }

  #end(order: Order, end: Parameters<Order['end']>[0]): void {
    if (!this.#tryTo('end_order', order, () => order.end(end))) this.#endLater(order, order.endUnwritten(end));
    this.#ended(order);
  }

  /** Without the line, the next server would continue an order that a client cancelled. */
  #endLater(order: Order, write: () => void): void {
    setTimeout(() => {
      if (order.state === 'ended' && !this.#tryTo('end_order', order, write)) this.#endLater(order, write);
    }, AGAIN_MS).unref();
  }

  #ended(order: Order): void {
    this.#options.log.note('order_ended', { run_id: order.id, how: order.ended?.how ?? null });
    const ended = this.#inOrder().filter(({ state }) => state === 'ended');
    const old = ended.slice(0, -ENDED_MAX).filter(one => !mayResume(one));
    for (const one of old) {
      this.#orders.delete(one.id);
      this.#tryTo('remove_order', one, () => rmSync(one.folder, { recursive: true, force: true }));
    }
  }

  #inOrder(): Order[] {
    return [...this.#orders.values()].sort((a, b) => (a.age < b.age ? -1 : 1));
  }

  #kindOf({ ordered }: Order) {
    const kind = this.#options.kinds[ordered.kind];
    if (!kind) throw new Fault('unknown_order', 'The server does not know this kind of order.');
    return kind;
  }

  #withKey({ key, by }: NewOrder): Order | undefined {
    if (key === null) return undefined;
    return [...this.#orders.values()].find(({ ordered }) => ordered.key === key && ordered.by === by);
  }

  #checkOpen(): void {
    if (this.#isDraining) throw new BusyFault('draining', 'The server is stopping. Try again in a minute.', 60);
    if (!this.#lock) throw new Fault('another_server', ANOTHER);
  }

  #checkRoom({ id, quotas }: Pick<Person, 'id' | 'quotas'>): void {
    const waiting = [...this.#orders.values()].filter(({ state }) => state === 'waiting');
    const own = waiting.filter(({ ordered }) => ordered.by === id).length;
    refuseFull(this.#options.limits, { all: waiting.length, own, quotas });
  }
}

/** A suite that was not finished may be resumed, and needs the files of its order. */
function mayResume({ ordered, ended }: Order): boolean {
  return ordered.kind === 'suite' && ended?.how === 'cancelled';
}

const ANOTHER = 'Another server of this project takes its orders. Stop that server, or order from it.';
const UNWRITTEN = 'The journal of an order cannot be written.';
const AGAIN_MS = 2_000;
const CANCEL_MS = 60_000;
const ENDED_MAX = 1_000;
