import { type ChildProcess, fork } from 'node:child_process';
import { tmpdir } from 'node:os';
import { Fault } from '../../base/fault.ts';
import type { Capture } from '../../contracts/capture.ts';
import type { StoppedBy } from '../../contracts/ending.ts';
import { builtProgram } from '../host/package-files.ts';
import type { Job, Leftovers, StreamName } from '../job/job.ts';
import type { Machine } from '../host/machine.ts';
import type { LauncherReply, LauncherRequest } from './messages.ts';

/** Starts programs through a separate launcher process. One launcher serves any number of runs. */
export interface Launcher {
  machine(): Promise<Machine>;
  /** Creates a job's sandbox without starting its program. */
  open(job: Job): Promise<SandboxHandle>;
  /** Ends the launcher. Returns true if it exited by itself and left nothing behind. */
  close(): Promise<boolean>;
  isLost(): boolean;
  readonly pid: number;
}

export interface SandboxHandle {
  readonly leftovers: Leftovers;
  readonly workFolder: string;
  readonly homeFolder: string | undefined;
  /** Runs the program to its end. The next piece of output arrives after the promise of `show` has resolved. */
  start(show?: (stream: StreamName, bytes: Uint8Array) => void | Promise<void>): Promise<Capture>;
  stop(by: StoppedBy): void;
  close(): Promise<void>;
}

export function openLauncher(): Launcher {
  const child = fork(builtProgram('launcher.js'), [], {
    detached: true,
    serialization: 'advanced',
    env: { PATH: '/usr/bin:/bin', TMPDIR: tmpdir() },
    execArgv: [],
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  });
  const line = new Line(child);
  let machine: Promise<Machine> | undefined;
  return {
    pid: child.pid ?? 0,
    // The answer never changes while the launcher runs.
    machine: () => (machine ??= line.ask({ ask: 'machine', no: line.next() }, 'machine').then(said => said.machine)),
    async open(job) {
      const no = line.next();
      const { leftovers, workFolder, homeFolder } = await line.ask({ ask: 'open', no, job }, 'opened');
      let closing: Promise<void> | undefined;
      return {
        leftovers,
        workFolder,
        homeFolder,
        async start(show) {
          if (show) line.onPiece(no, show);
          try {
            return (await line.ask({ ask: 'start', no }, 'captured')).capture;
          } finally {
            line.offPiece(no);
          }
        },
        stop: by => line.tell({ ask: 'stop', no, by }),
        close() {
          // Only once: the launcher forgets a closed run and would not answer again.
          closing ??= line.ask({ ask: 'close', no }, 'closed').then(() => undefined);
          return closing;
        },
      };
    },
    close: () => line.close(),
    isLost: () => line.isLost,
  };
}

/** Sends requests to the launcher and matches its answers to them. */
class Line {
  readonly #child: ChildProcess;
  readonly #waiting = new Map<string, { resolve: (answer: LauncherReply) => void; reject: (error: Error) => void }>();
  readonly #shows = new Map<number, (stream: StreamName, bytes: Uint8Array) => void | Promise<void>>();
  #isLost = false;
  #no = 0;

  constructor(child: ChildProcess) {
    this.#child = child;
    child.on('message', (answer: LauncherReply) => this.#take(answer));
    child.once('exit', () => this.#lose());
    // An unreferenced child may not emit `exit`, but pending requests still fail when the channel closes.
    child.once('disconnect', () => this.#lose());
    child.once('error', cause => this.#lose(cause));
    // Only a pending request keeps this process alive.
    child.unref();
    child.channel?.unref();
  }

  get isLost(): boolean {
    return this.#isLost;
  }

  next(): number {
    return ++this.#no;
  }

  ask<Said extends LauncherReply['say']>(
    message: LauncherRequest,
    said: Said,
  ): Promise<Extract<LauncherReply, { say: Said }>> {
    return new Promise((resolve, reject) => {
      if (this.#isLost) {
        reject(lost());
        return;
      }
      this.#waiting.set(`${message.no} ${said}`, {
        resolve: answer => resolve(answer as Extract<LauncherReply, { say: Said }>),
        reject,
      });
      this.#hold();
      this.tell(message);
    });
  }

  tell(message: LauncherRequest): void {
    if (!this.#isLost) this.#child.send(message, () => undefined);
  }

  onPiece(no: number, show: (stream: StreamName, bytes: Uint8Array) => void | Promise<void>): void {
    this.#shows.set(no, show);
  }

  offPiece(no: number): void {
    this.#shows.delete(no);
  }

  /** Returns true if the launcher exited by itself and left nothing behind. */
  async close(): Promise<boolean> {
    if (this.#isLost) return false;
    const gone = new Promise<boolean>(resolve => this.#child.once('exit', (_, signal) => resolve(signal === null)));
    this.#child.ref();
    this.#child.disconnect();
    return gone;
  }

  #take(answer: LauncherReply): void {
    const { no } = answer;
    if (answer.say === 'piece') {
      void Promise.resolve(this.#shows.get(no)?.(answer.stream, answer.bytes)).finally(() =>
        this.tell({ ask: 'more', no }),
      );
      return;
    }
    if (answer.say === 'fault') {
      const fault = new Fault(answer.code, answer.message, { cause: answer.cause });
      for (const [key, { reject }] of this.#waiting) {
        if (!key.startsWith(`${no} `)) continue;
        this.#waiting.delete(key);
        reject(fault);
      }
    } else {
      const key = `${no} ${answer.say}`;
      this.#waiting.get(key)?.resolve(answer);
      this.#waiting.delete(key);
    }
    this.#hold();
  }

  #hold(): void {
    if (this.#waiting.size > 0) this.#child.channel?.ref();
    else this.#child.channel?.unref();
  }

  #lose(cause?: Error): void {
    this.#isLost = true;
    for (const { reject } of this.#waiting.values()) reject(lost(cause));
    this.#waiting.clear();
  }
}

function lost(cause?: Error): Fault {
  return new Fault('launcher_lost', 'The launcher process died. Try again.', { cause });
}
