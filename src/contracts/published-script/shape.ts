import * as z from 'zod/mini';
import { filledText, matching, record, relativePath, semver } from '../shape.ts';
import { durationWord } from '../target/words.ts';

/** Names of published scripts. They become names of folders and parts of addresses. */
export const SCRIPT_NAME = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;

/** Names of roles and groups in `who`. */
export const GROUP_NAME = /^[A-Za-z0-9][A-Za-z0-9_.:@/-]{0,99}$/;

/** Names of inputs. They become keys of inputs.json and names of files. */
const INPUT_NAME = /^[a-z][a-z0-9_]{0,39}$/;

/** A calendar day. */
export const DAY = /^\d{4}-\d\d-\d\d$/;

const positive = () => z.int().check(z.gte(1));
const line = () => matching(/^(?=.*\S)[^\n\r]{1,200}$/, 'one line of 1 to 200 characters');
const day = () => matching(DAY, 'a date such as 2026-01-31');
const sizeWord = () =>
  z.union([positive(), matching(/^\d{1,12}(?:[kmg](?:i?b)?|b)?$/i, 'a size such as 512k, 10m or 10MB')]);

/** What every input has. */
const common = {
  name: matching(INPUT_NAME, 'a name of lower-case letters, digits and "_" that begins with a letter'),
  label: line(),
  required: z.optional(z.boolean()),
  help: z.optional(z.string().check(z.maxLength(1_000))),
};

const textInput = record({
  kind: z.literal('text'),
  ...common,
  default: z.optional(z.string()),
  max_length: z.optional(positive()),
  pattern: z.optional(filledText()),
});

const numberInput = record({
  kind: z.literal('number'),
  ...common,
  default: z.optional(z.number()),
  min: z.optional(z.number()),
  max: z.optional(z.number()),
  step: z.optional(z.number().check(z.gt(0))),
});

const choiceInput = record({
  kind: z.literal('choice'),
  ...common,
  default: z.optional(z.string()),
  choices: z.array(line()).check(z.minLength(1), z.maxLength(200)),
});

const dateInput = record({
  kind: z.literal('date'),
  ...common,
  default: z.optional(day()),
  earliest: z.optional(day()),
  latest: z.optional(day()),
});

const fileInput = record({
  kind: z.literal('file'),
  ...common,
  accept: z.optional(
    z
      .array(matching(/^\.[a-z0-9]{1,10}$/, 'an extension of lower-case letters and digits such as .csv'))
      .check(z.minLength(1), z.maxLength(50)),
  ),
  max_bytes: z.optional(sizeWord()),
  multiple: z.optional(z.boolean()),
});

const inputShape = z.union([textInput, numberInput, choiceInput, dateInput, fileInput]);

/** The limits of `proctor run script`, without the dashes of their flags. */
const limitsShape = record({
  timeout: z.optional(durationWord()),
  idle_timeout: z.optional(durationWord()),
  memory: z.optional(sizeWord()),
  cpu_seconds: z.optional(positive()),
  cpus: z.optional(z.number().check(z.gt(0))),
  pids: z.optional(positive()),
  max_files: z.optional(positive()),
  max_bytes: z.optional(sizeWord()),
});

export const publishedScriptShape = record({
  schema_version: z.literal('published-script.v1'),
  name: matching(SCRIPT_NAME, 'a name of 1 to 63 lower-case letters, digits and "-"'),
  version: semver().check(z.maxLength(64)),
  title: line(),
  description: z.optional(z.string().check(z.maxLength(10_000))),
  /** The file to run, directly in the folder. */
  script: filledText(),
  /** Further files of the folder that the script finds in `input/`. */
  files: z.optional(z.array(relativePath()).check(z.maxLength(100))),
  inputs: z.optional(z.array(inputShape).check(z.maxLength(50))),
  limits: z.optional(limitsShape),
  /** Roles and groups that may run it; every user by default. */
  who: z.optional(
    z.array(matching(GROUP_NAME, 'the name of a role or a group')).check(z.minLength(1), z.maxLength(50)),
  ),
  /** How long the server keeps what a run leaves. It can only shorten the server's own settings. */
  keep: z.optional(record({ outputs: z.optional(durationWord()), logs: z.optional(durationWord()) })),
});

export type PublishedScript = z.infer<typeof publishedScriptShape>;
export type ScriptInput = z.infer<typeof inputShape>;
export type WrittenScriptLimits = z.infer<typeof limitsShape>;

/** Which version of a published script ran, for a request document. */
export const publishedVersion = record({
  name: matching(SCRIPT_NAME, 'the name of a published script'),
  version: semver(),
  digest: matching(/^sha256:[a-f0-9]{64}$/, 'sha256: followed by 64 lower-case hexadecimal digits'),
});

export type PublishedVersion = z.infer<typeof publishedVersion>;
