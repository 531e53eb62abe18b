import { partRules } from '../contracts/suite-part/rules.ts';
import { EX } from './expiry-rules.ts';
import { LD } from './ledger-rules.ts';
import { WO } from './outcome-rules.ts';

/** Rules that involve several files in a folder. The inspectors in this folder implement them. */
export const FOLDER_RULES = {
  FD1: {
    id: 'FD1',
    title: 'Entries Plain',
    why: 'Evidence consists of files and folders. Links, devices and pipes mean something different on every machine.',
    asks: ['every entry is a regular file or a folder with a UTF-8 name; the verifier never follows links'],
  },
  FD2: {
    id: 'FD2',
    title: 'References Resolve',
    why: 'A document that refers to a missing file has lost its evidence.',
    asks: [
      'every file that a document refers to exists, relative to the folder of the document',
      'paths in step manifests, asset manifests and events are relative to the run folder',
      'an asset id that a document refers to is listed in assets/manifest.json',
      'should: every file listed in a script result exists; the list is only a hint',
    ],
  },
  FD3: {
    id: 'FD3',
    title: 'Hashes And Sizes Match',
    why: 'If a document states the hash or size of a file, the file must match it byte for byte.',
    asks: [
      'a file has the size and SHA-256 that a document states',
      'failure metadata states the size and hash of the body that its case saved',
      'bundle.json in the folder of a run result matches its bundle.sha256',
    ],
  },
  FD4: {
    id: 'FD4',
    title: 'Manifests Complete',
    why: 'A file that no manifest lists has no known origin.',
    asks: [
      'if assets/manifest.json exists, it lists every file in assets/',
      'every folder in evidence/steps/ has a manifest.json that lists all its files',
    ],
  },
  FD5: {
    id: 'FD5',
    title: 'No Path Of The Host',
    why: 'Evidence is shared with strangers. It must not reveal the machine, the path or the user that created it.',
    asks: [
      'no string contains a path below a home, temporary or system folder',
      'exempt: text from the program that ran, target addresses, and commands.shell',
    ],
  },
  FD6: {
    id: 'FD6',
    title: 'Names Agree',
    why: 'A case must match the name of its file and the version of its run. Otherwise it could be a different case.',
    asks: [
      'a case is in <case_id>.json, and a suite run is in run.json',
      'the version of a case matches run.json in its folder',
      'failure metadata has the case id, version and class of the case that refers to it',
    ],
  },
  FD7: {
    id: 'FD7',
    title: 'Cases Complete',
    why: 'Every selected case leaves a file, even if it failed. A missing case has not passed.',
    asks: [
      'a folder with cases has a run.json, and every id in its selected_case_ids has a case',
      'run.json selects every case in its folder',
    ],
  },
  FD8: {
    id: 'FD8',
    title: 'Environment Agrees',
    why: 'Comparisons rely on the environment that metadata.json states. It must be the one that was recorded.',
    asks: [
      'environment_hash in metadata.json is the environment hash of runner.json in the same folder',
      'if metadata.json says why there is no runner.json, there is none',
    ],
  },
  FD9: {
    id: 'FD9',
    title: 'Run Agrees',
    why: 'Documents that describe different runs, or different endings, cannot come from the same run.',
    asks: [
      'all documents in evidence/ that name a run name the same one, including the seal and every event',
      'the outcome of a script has the status of result.json and the ending of runner.json',
      'unmasked and complete streams of a script match the hashes in its outcome',
      'the seal of a script, agent, intent or suite comes with the request and the other documents that every run of this kind has',
    ],
  },
  FD10: {
    id: 'FD10',
    title: 'Evaluation Of This Run',
    why: 'An evaluation is written after the seal. Only its own references say which run it judged.',
    asks: [
      'an evaluation is in evaluation.json, at the top of the run folder or in its evidence/',
      'seal_sha256 is the hash of evidence/seal.json, and cases_sha256 is the hash of assets/cases.ndjson',
      'run_id and version match run.json',
      'gate has the limits of evidence/request.json and covers all repetitions; it is required for a single repetition with limits',
      'repairs is the sum over the cases in the folder',
      'for agents: run_id matches evidence/outcome.json, and the seq of every flag exists in the transcript',
    ],
  },
  FD11: {
    id: 'FD11',
    title: 'Intent Agrees',
    why: 'A result depends on its request, bundle, runner record and outcome. All of them must agree.',
    asks: [
      'the run result and the intent request name the same run, file, profile and model mode',
      'model_io.json exists if and only if the request names a recording, and has the hash that the request states',
      'bundle.json has the bundle_id, intent_sha256 and questions of the result, and limits within the policy',
      'files, commands, outputs, accept, limits, network and write_roots of the bundle follow from intent.json under the policy',
      'a complete bundle has no command, output or network access that the policy forbids',
      'execution is present if and only if Proctor was asked to run the bundle; the outcome and runner record are then present and readable',
      'a run whose outcome says recovered is not accepted; it may have an outcome without an execution',
      'runner.json has the limits, write roots and network access of the bundle, and the allowed commands of the policy',
      'sandbox_id is sandbox_ and 16 digits of the content hash of bundle_id, policy and backend',
      'the exit code is 0 if and only if the commands ended with 0, every output exists and every check passed',
      'cmd is the command of the bundle that ended the run, and both stream hashes match the outcome',
      'the outcome has the checks of the bundle, in the same order',
      'the execution lists every file in output/, states the sum of their sizes, and lacks only outputs reported as missing',
      'without an execution there is no outcome and no runner record, unless the run was recovered; unmasked and complete streams match the outcome',
    ],
  },
  FD12: {
    id: 'FD12',
    title: 'Agent Agrees',
    why: 'Ten documents describe an agent run. If they disagree, one of them was changed later.',
    asks: [
      'result.json and the runner metadata have the termination and reason of the outcome',
      'the step manifest, metadata.json and status.json have the same termination',
      'the request and the runner metadata have the agent family, version, program, session and model of the outcome',
      'metadata.json has the attempt of the request, or neither has one',
      'runner.json and exit_code in the runner metadata match the ending of the outcome',
      'transcript_path and final_response_path are the paths of these roles in the manifest',
      'the work tree status names the same run, and the same diff as the manifest',
      'the policy summary has the policy that the request states',
      'in runner.json, write_roots is empty if the effective policy is read_only, and network_blocked is false if it allows network access',
      'approval_posture in the runner metadata is the effective one in the policy summary',
      'if termination is killed_policy, there is a hard violation of the class that the reason names',
      'a step with a hard violation did not complete; a violation in the work tree or on the network makes it killed_policy',
      'every changed path that the effective policy does not allow is listed as a violation, and so is a changed protected branch',
      'the transcript has as many lines as the outcome has events, and seq numbers them from 1',
      'native_line never decreases, and does not exceed lines.total in the outcome',
      'unmasked and complete native streams match the hashes in the outcome',
      'every check that the request names has a result for this run, and no other check has one',
      'the manifest of a check is completed if and only if the check passed, and its complete streams match their hashes',
    ],
  },
  FD13: {
    id: 'FD13',
    title: 'Case And Run Agree',
    why: 'A case is judged by what it states about its agent run, so it must match the evidence of that run.',
    asks: [
      'if the folder contains the run that agent_run names, seal_sha256 is the hash of its seal',
      'termination and reason match the outcome of the run, and violations match its policy summary',
      'changes matches the number of files and the diff in the work tree status',
      'checks matches the results of the checks of the run',
    ],
  },
  FD14: {
    id: 'FD14',
    title: 'Answer Follows From Reply',
    why: 'A verdict counts only if the answer is what the target sent. The verifier reads every stored reply again.',
    asks: [
      'if evidence/request.json says how replies are read, every answered case has its reply in assets/replies.ndjson',
      'reply_sha256 of the last attempt is the hash of that reply',
      'the answer, ttft_ms and repairs of the case follow from that reply and the target in evidence/request.json',
    ],
  },
} as const;

/** Rules for sealed run folders. SL1 to SL4 concern the seal alone and are part of its contract. */
export const SL = {
  SL5: {
    id: 'SL5',
    title: 'Folder Whole',
    why: 'The evidence must match what was sealed, byte for byte, wherever the folder was copied.',
    asks: [
      'every finished run of Proctor has a seal',
      'every file that evidence/seal.json lists exists, with the stated size and SHA-256, unless it expired (EX5)',
      'the files in evidence/internal/ are either all present or all absent',
      'a file that already violates FD2 or FD3 is not reported again',
    ],
  },
  SL6: {
    id: 'SL6',
    title: 'Nothing Extra',
    why: 'A file that was added after the seal has no known origin.',
    asks: [
      'evidence/seal.json lists every file in the folder',
      'exempt: evidence/seal.json and evidence/expired.json, and evaluation.json and evaluation.seal.json, at the top or in evidence/',
      'should (must, when strict): no temporary file for these two is left, such as .evaluation.json.0a1b2c3d4e5f.tmp',
    ],
  },
  SL7: {
    id: 'SL7',
    title: 'Run Finished',
    why: 'Until a run is finished, its journal is authoritative and its documents are not.',
    asks: [
      'there is no journal.ndjson at the top of a run folder',
      'proctor recover finishes a run that was started on this machine; other runs stay unchanged',
    ],
  },
  SL8: {
    id: 'SL8',
    title: 'Signed By This Key',
    why: 'Anyone can create a key. A signature means something only if you know the key.',
    asks: [
      'with --key: if a seal is signed, one of its signatures has the keyid of a given key, or no keyid',
      'with --revoked: a revoked key made none of the valid signatures',
      'a seal is evidence/seal.json, evaluation.seal.json, comparison.seal.json, or seal in a baseline',
      'a keyid is sha256: and the hexadecimal SHA-256 of the public key in DER (SPKI)',
    ],
  },
  SL9: {
    id: 'SL9',
    title: 'Signature Right',
    why: 'A signature that does not match belongs to another seal, or was made without the key.',
    asks: [
      'with --key: this signature is a valid Ed25519 signature of that key, in standard base64',
      'it covers the DSSE pre-authentication encoding: DSSEv1, then payloadType and payload with their lengths',
      'with --key: a signed envelope has no unknown keys, because no signature covers them',
    ],
  },
  SL10: {
    id: 'SL10',
    title: 'Signature There',
    why: 'Without a signature, anyone who changes a file can write a new seal unnoticed.',
    asks: [
      'with --key and --require-signature: every seal is signed',
      'with both: every file is in the folder of a sealed run, is listed by the seal of a judgement, or is a sealed baseline',
      'should, with --key alone: the same',
      'exempt: files in .proctor outside runs/ and comparisons/, such as the ledger, keys, settings, reports, packed parts and kept files',
    ],
  },
} as const;

/** Rules for judgements and their seals. JS1 to JS5 concern the seal alone and are part of its contract. */
export const JS = {
  JS6: {
    id: 'JS6',
    title: 'Judgement As Sealed',
    why: 'A verdict that was changed after it was sealed proves nothing.',
    asks: [
      'every file that evaluation.seal.json or comparison.seal.json lists exists, with the stated size and SHA-256',
    ],
  },
  JS7: {
    id: 'JS7',
    title: 'Judgement Sealed',
    why: 'Without a seal, anyone could have written the verdict unnoticed.',
    asks: [
      'evaluation.json has an evaluation.seal.json if the seal of its run says evaluation_sealed',
      'with --key and --require-signature: every evaluation and every comparison has a seal',
      'should: evaluations of older runs, and comparisons, have a seal',
    ],
  },
  JS8: {
    id: 'JS8',
    title: 'Foundations Agree',
    why: 'The seal of another run or comparison proves nothing about this one.',
    asks: [
      'kind is evaluation in evaluation.seal.json, and comparison in comparison.seal.json',
      'id, sealed_at and judge_version match the evaluation; id and sealed_at match the comparison',
      'the seal of an evaluation states the hash of evidence/seal.json, and the evaluation names the same hash',
      'the seal of a comparison states the runs and seals of both sides, or the seal of the accepted baseline',
    ],
  },
  JS9: {
    id: 'JS9',
    title: 'Judged With The Key Of The Run',
    why: 'The process that ran a suite also judges it. A different key, or none, means that another process judged it.',
    asks: ['if evidence/seal.json is signed, evaluation.seal.json is signed with the same key'],
  },
} as const;

export interface FolderRule {
  readonly id: string;
  readonly title: string;
  readonly why: string;
  readonly asks: readonly string[];
}

export const folderRules: readonly FolderRule[] = [
  ...Object.values(FOLDER_RULES),
  ...Object.values(SL),
  ...Object.values(JS),
  ...Object.values(EX),
  ...partRules,
  ...Object.values(LD),
  ...Object.values(WO),
];
