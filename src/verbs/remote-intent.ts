import { Fault } from '../base/fault.ts';
import { decideIntent } from '../run/intent/decide.ts';
import type { IntentOrder } from '../run/intent/intent.ts';
import type { IntentMode } from '../run/intent/questions.ts';
import { givenIn, judgedIntent } from '../run/intent/read-intent.ts';
import type { Profile } from '../contracts/profile/shape.ts';
import { profileOf } from './profile.ts';
import {
  ANSWERS_FILE,
  answersOf,
  checkAccept,
  INTENT_BYTES_MAX,
  type IntentRunResult,
  runOrder,
  type RunIntentOptions,
} from './run-intent.ts';

/** An intent that a client of a server orders. */
export interface RemoteIntent {
  readonly intent: NamedBytes;
  readonly answers: NamedBytes | null;
  readonly profile: Profile;
  readonly mode: IntentMode;
}

/** The bytes of a file, and the name that evidence gives it. */
export interface NamedBytes {
  readonly name: string;
  readonly bytes: Buffer;
}

/** Decides an intent without running it. Throws a fault if it is invalid, or if an answer matches no question. */
export function checkRemoteIntent(remote: RemoteIntent): void {
  const { intent, answers, mode, profile } = readRemote(remote);
  checkAccept(decideIntent({ intent, answers: answers?.values ?? {}, mode, profile }).intent.accept ?? []);
}

/** Runs an ordered intent as `runIntent` does, under an id that is already known. */
export function runRemoteIntent(
  id: string,
  remote: RemoteIntent,
  around: Pick<RunIntentOptions, 'cwd' | 'signal' | 'onOutput' | 'onWarning'>,
): Promise<IntentRunResult> {
  return runOrder({ id, ...readRemote(remote), modelMode: 'none', recording: null }, around);
}

function readRemote({ intent, answers, profile, mode }: RemoteIntent): Read {
  const { value, given } = givenIn(intent.bytes, intent.name, 'The intent', INTENT_BYTES_MAX);
  const answered = answers && answersOf(givenIn(answers.bytes, answers.name, ANSWERS_FILE, INTENT_BYTES_MAX));
  return { intent: judgedIntent(value), given, answers: answered, profile: remoteProfile(profile), mode };
}

type Read = Pick<IntentOrder, 'intent' | 'given' | 'answers' | 'profile' | 'mode'>;

/** A profile that a client may use: a built-in one by name, or its own. A name is never a file of the server. */
export function remoteProfile(given: Profile | 'strict' | 'default' | 'dev'): Profile {
  const profile = profileOf(given);
  if (profile.allow_network) throw new Fault('bad_profile', NETWORK);
  return profile;
}

/** The network of the server may reach addresses that its clients cannot. */
const NETWORK = 'The profile allows the network. A server runs intents without network access.';
