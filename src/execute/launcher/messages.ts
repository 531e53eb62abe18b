import type { Capture } from '../../contracts/capture.ts';
import type { StoppedBy } from '../../contracts/ending.ts';
import type { Job, Leftovers, StreamName } from '../job/job.ts';
import type { Machine } from '../host/machine.ts';

/** Requests to the launcher. Answers carry the number of their request. */
export type LauncherRequest =
  | { readonly ask: 'machine'; readonly no: number }
  | { readonly ask: 'open'; readonly no: number; readonly job: Job }
  | { readonly ask: 'start'; readonly no: number }
  | { readonly ask: 'stop'; readonly no: number; readonly by: StoppedBy }
  | { readonly ask: 'close'; readonly no: number }
  /** The reader has consumed a piece of a live stream, so the launcher may send the next. */
  | { readonly ask: 'more'; readonly no: number };

export type LauncherReply =
  | { readonly say: 'machine'; readonly no: number; readonly machine: Machine }
  | {
      readonly say: 'opened';
      readonly no: number;
      readonly leftovers: Leftovers;
      readonly workFolder: string;
      readonly homeFolder: string | undefined;
    }
  | { readonly say: 'piece'; readonly no: number; readonly stream: StreamName; readonly bytes: Buffer }
  | { readonly say: 'captured'; readonly no: number; readonly capture: Capture }
  | { readonly say: 'closed'; readonly no: number }
  | {
      readonly say: 'fault';
      readonly no: number;
      readonly code: string;
      readonly message: string;
      readonly cause: string;
    };
