/** The rules that span the files of a folder. What each looks at is in folder.ts. */
export const FD = {
  FD1: {
    id: 'FD1',
    title: 'Entries Plain',
    why: 'Evidence is made of files and folders. A link, device or pipe means something else on every machine.',
    asks: ['every entry is a regular file or a folder, with a name in UTF-8; links are never followed'],
  },
  FD2: {
    id: 'FD2',
    title: 'References Resolve',
    why: 'A document that points to a file which is not there has lost its evidence.',
    asks: [
      'every file that a document names is there, counted from the folder of the document',
      'manifests of steps and of assets, and events, count from the folder of the run',
      'an asset that is named by its id is listed in assets/manifest.json',
      'should: files that a script result names are there, which it only hints at',
    ],
  },
  FD3: {
    id: 'FD3',
    title: 'Hashes And Sizes Match',
    why: 'A file whose hash or size is stated must be that file, byte for byte.',
    asks: [
      'a file has the size and the SHA-256 that a document states',
      'the metadata of a failure states the size and the hash of the body that its case saved',
      'bundle.json, if it lies beside a run result, hashes to its bundle.sha256',
    ],
  },
  FD4: {
    id: 'FD4',
    title: 'Manifests Complete',
    why: 'A file that no manifest names was put there by nobody who answers for it.',
    asks: [
      'every file in assets/ is listed in assets/manifest.json, if there is one',
      'every folder in evidence/steps/ has a manifest.json, which lists every file in it',
    ],
  },
  FD5: {
    id: 'FD5',
    title: 'No Path Of The Host',
    why: 'Evidence is shown to strangers; it must not tell where on which machine it was made, or by whom.',
    asks: [
      'no string names a file below a home, temporary or system folder',
      'the words of the program that ran, addresses of targets and commands.shell are its own',
    ],
  },
  FD6: {
    id: 'FD6',
    title: 'Names Agree',
    why: 'A case lies in the file of its own name, on the side of its own run, or it is not that case.',
    asks: [
      'a case lies in the file <case_id>.json, a run of a suite in run.json',
      'the version of a case is that of the run.json beside it',
      'the metadata of a failure names the case, version and class of the case that names it',
    ],
  },
  FD7: {
    id: 'FD7',
    title: 'Cases Complete',
    why: 'Every case that a run selected left an artifact, also when it failed; a missing one is not a passed one.',
    asks: [
      'cases lie beside a run.json, and every id in its selected_case_ids has its case',
      'every case beside run.json was selected',
    ],
  },
  FD8: {
    id: 'FD8',
    title: 'Environment Agrees',
    why: 'Two runs are compared by the surroundings that their metadata names; those must be the ones on record.',
    asks: [
      'environment_hash of metadata.json is the environment hash of the runner.json beside it',
      'where metadata.json says why there is no runner.json, there is none',
    ],
  },
  FD9: {
    id: 'FD9',
    title: 'Run Agrees',
    why: 'Documents of one folder that tell of two runs, or of two ends, were not written by one run.',
    asks: [
      'every document in evidence/ that names a run names the same one, the seal and each event included',
      'the outcome of a script has the status of its result.json, and the ending that its runner.json tells',
      'streams of a script that were kept whole are those of its outcome',
      'the seal of a script, an agent, an intent or a suite lies with the request of one, and with what such a run always leaves',
    ],
  },
  FD10: {
    id: 'FD10',
    title: 'Evaluation Of This Run',
    why: 'An evaluation comes after the seal, so only what it names itself tells which run it judged.',
    asks: [
      'an evaluation lies in evaluation.json, at the top of the folder of its run or in its evidence/',
      'seal_sha256 is the hash of evidence/seal.json, and cases_sha256 that of assets/cases.ndjson',
      'run_id and version are those of run.json',
      'gate has the limits that evidence/request.json asks for, over all repetitions of the suite; it is there if there is one repetition and limits',
      'of an agent: run_id is that of evidence/outcome.json, and seq of a flag is that of a line of the transcript',
    ],
  },
  FD11: {
    id: 'FD11',
    title: 'Intent Agrees',
    why: 'A result is worth what it rests on: the request, the bundle, the record of the runner and the outcome beside it.',
    asks: [
      'a run result and the request of an intent beside it name the same run, file, profile and model mode',
      'model_io.json is there where the request names a recording, has the hash that it states, and is not there otherwise',
      'bundle.json beside it has its bundle_id, its intent_sha256, its questions, and limits within its policy',
      'files, commands, outputs, accept, limits, network and write_roots of the bundle are what intent.json gives under the policy',
      'a bundle that is complete has no command, output or network that the policy forbids',
      'there is an execution exactly where a bundle was to be run, and then a readable outcome and runner record',
      'a run whose outcome has recovered is not accepted, and may have an outcome and no execution',
      'runner.json has the limits, write roots and network of the bundle, and the allowed commands of the policy',
      'sandbox_id is sandbox_ and 16 digits of the content hash of bundle_id, policy and backend',
      'the exit code is 0 exactly where the commands ended with 0, every output is there and every check held',
      'cmd is the command of the bundle that ended so; the hashes of both streams are those of the outcome',
      'the checks of the outcome are those of the bundle, in their order',
      'every file in output/ is one of the outputs of the execution; these sum up, and lack none that was not missing',
      'without an execution there is no outcome and no runner record, recovered runs excepted; streams that were kept whole are those of the outcome',
    ],
  },
  FD12: {
    id: 'FD12',
    title: 'Agent Agrees',
    why: 'What is told of an agent in ten places must be one story, or somebody has told another one later.',
    asks: [
      'result.json and runner metadata have the termination and the reason of the outcome of an agent',
      'the manifest of its step, metadata.json and status.json have that termination, too',
      'request and runner metadata have the agent_family, version, program, session and model of the outcome',
      'runner.json tells the ending of the outcome, and so does exit_code of the runner metadata',
      'transcript_path and final_response_path are the paths of those roles in the manifest',
      'the status of the work tree names the same run, and the diff that the manifest has',
      'the policy summary has the policy that the request asks for',
      'runner.json has no write_roots where the effective policy is read_only, and no network_blocked where it allows the network',
      'approval_posture of the runner metadata is the effective one of the policy summary',
      'a hard violation is there where termination is killed_policy, of the class that is its reason',
      'a step with a hard violation did not complete; one in the work tree or on the network makes it killed_policy',
      'a path in the status of the work tree that the effective policy does not allow is told as a violation, and so is a protected branch',
      'the transcript has as many lines as the outcome has events; seq counts them from 1',
      'native_line never decreases from line to line, and is at most lines.total of the outcome',
      'native streams that were kept whole are those of the outcome',
    ],
  },
  FD13: {
    id: 'FD13',
    title: 'Case And Run Agree',
    why: 'A case is judged by what it says of the run of its agent, so that must be what the evidence of the run says.',
    asks: [
      'where the run that agent_run of a case names lies in the folder, seal_sha256 is the hash of its seal',
      'termination and reason are those of its outcome, and violations those of its policy summary',
      'changes has the number of files and the diff of the status of its work tree',
    ],
  },
} as const;

/** The rules of a sealed run folder; those of the seal alone, SL1 to SL4, stand with its contract. */
export const SL = {
  SL5: {
    id: 'SL5',
    title: 'Folder Whole',
    why: 'What was sealed is what is shown, byte for byte, wherever the folder was copied to.',
    asks: [
      'a run of Proctor has its seal, unless it is not finished',
      'every file that evidence/seal.json names is there, with the size and the SHA-256 that it states',
      'the files in evidence/internal/ are there all, or none of them is',
      'a file that another document was found wrong about (FD2, FD3) is not told of again',
    ],
  },
  SL6: {
    id: 'SL6',
    title: 'Nothing Extra',
    why: 'A file that came after the seal was put there by nobody who answers for it.',
    asks: [
      'every file of the folder is named by evidence/seal.json',
      'evidence/seal.json itself may be there without, and so may evaluation.json and evaluation.seal.json, at the top or in evidence/',
      'should (must, when strict): no unfinished part of these two is left, such as .evaluation.json.0a1b2c3d4e5f.tmp',
    ],
  },
  SL7: {
    id: 'SL7',
    title: 'Run Finished',
    why: 'While a run is alive, or after it was torn off, its journal is the truth and its documents are not.',
    asks: [
      'there is no journal.ndjson at the top of a run folder',
      'proctor recover finishes a run that was started here; one that was not stays as it is',
    ],
  },
  SL8: {
    id: 'SL8',
    title: 'Signed By This Key',
    why: 'Anybody can make a key. A signature says something only if it is one of the key that you know.',
    asks: [
      'with --key: if a seal is signed, one of its signatures has that key as its keyid, or no keyid at all',
      'a seal is evidence/seal.json, evaluation.seal.json, comparison.seal.json, or seal in a baseline',
      'a keyid is sha256: and the hexadecimal SHA-256 over the DER of the public key (SPKI)',
    ],
  },
  SL9: {
    id: 'SL9',
    title: 'Signature Right',
    why: 'A signature that does not fit was made for another seal, or by somebody who has not got the key.',
    asks: [
      'with --key: such a signature is the Ed25519 signature of that key, in standard base64',
      'it is over the pre-authentication encoding of DSSE: DSSEv1, then payloadType and payload with their lengths',
      'with --key: a signed envelope holds no unknown key, since no signature covers it',
    ],
  },
  SL10: {
    id: 'SL10',
    title: 'Signature There',
    why: 'Without a signature, whoever changes a file can write a new seal, and nobody will notice.',
    asks: [
      'with --key and --require-signature: every seal is signed',
      'with both: every file lies in the folder of a sealed run, is listed by the seal of a judgement, or is a sealed baseline',
      'should, with --key alone: the same',
      'what lies in .proctor beside runs/ and comparisons/ is no evidence: the ledger, keys, settings, reports, what was kept',
    ],
  },
} as const;

/** The rules of judgements and their seals; those of such a seal alone, JS1 to JS5, stand with its contract. */
export const JS = {
  JS6: {
    id: 'JS6',
    title: 'Judgement As Sealed',
    why: 'A verdict that was changed after it was given is not a verdict.',
    asks: [
      'every file that evaluation.seal.json or comparison.seal.json lists is there, with the size and SHA-256 that it states',
    ],
  },
  JS7: {
    id: 'JS7',
    title: 'Judgement Sealed',
    why: 'Without a seal, anybody could have written the verdict, and nobody would notice.',
    asks: [
      'evaluation.json has evaluation.seal.json beside it, where the seal of its run says evaluation_sealed',
      'with --key and --require-signature: every evaluation and every comparison has its seal',
      'should: evaluations of older runs, and comparisons, have their seal',
    ],
  },
  JS8: {
    id: 'JS8',
    title: 'Foundations Agree',
    why: 'The seal of another run or comparison says nothing about this one.',
    asks: [
      'kind is evaluation in evaluation.seal.json, and comparison in comparison.seal.json',
      'id, sealed_at and judge_version are those of the evaluation; id and sealed_at those of the comparison',
      'the seal of an evaluation rests on the hash of evidence/seal.json, which the evaluation names, too',
      'the seal of a comparison rests on the runs and seals of both sides, or on the seal of the accepted baseline',
    ],
  },
  JS9: {
    id: 'JS9',
    title: 'Judged With The Key Of The Run',
    why: 'A run is judged by the process that ran it. Another key, or none, means that somebody else judged it.',
    asks: ['where evidence/seal.json is signed, evaluation.seal.json is signed by the same key'],
  },
} as const;

/** The rules of a ledger and the runs beside it; those of its lines, LD1 to LD7, stand with their contract. */
export const LD = {
  LD8: {
    id: 'LD8',
    title: 'Line Of Its Run',
    why: 'Whoever changes a run and seals it anew leaves a line that names another seal.',
    asks: [
      'where the folder of a run lies in runs/ beside ledger.ndjson, the line of the run has the hash of its seal',
      'there it has the name of the run that its seal names',
      'kind and sealed_at are those that the seal states, and intent is what run.json says',
      'a run folder in such a place is held against its line, if it has one',
    ],
  },
  LD9: {
    id: 'LD9',
    title: 'No Run Missing',
    why: 'No line holds the last one fast. The sealed folders do, as long as they are there.',
    asks: [
      'every sealed run in runs/ beside ledger.ndjson has a line; one that is older than the first line should have one',
      'a run that has still its journal needs none yet; a line whose run is not here any more is no fault',
    ],
  },
} as const;

export interface FolderRule {
  readonly id: string;
  readonly title: string;
  readonly why: string;
  readonly asks: readonly string[];
}

export const folderRules: readonly FolderRule[] = [
  ...Object.values(FD),
  ...Object.values(SL),
  ...Object.values(JS),
  ...Object.values(LD),
];
