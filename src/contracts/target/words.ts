import * as z from 'zod/mini';
import { TIME } from '../../base/units.ts';
import { filledText, matching, record } from '../shape.ts';

export const durationWord = () => matching(TIME, 'a time such as 500ms, 30s or 10m');

/** A program and its arguments. Never a shell line. */
export const commandWords = () => z.array(filledText()).check(z.minLength(1), z.maxLength(WORDS_MAX));

const WORDS_MAX = 200;

/** Values by name. Placeholders such as ${env:NAME} are filled in when the target is used. */
export const namedTexts = () => z.record(z.string(), z.string());

/** A path of the mapping language. */
export const mappingPath = () => matching(/^[$@]/, 'a path that starts with $ or @');

/** A state in a reply, and the values that count. */
export const stateIn = () =>
  record({
    path: mappingPath(),
    in: z.array(z.union([z.string(), z.boolean(), z.number()])).check(z.minLength(1), z.maxLength(STATES_MAX)),
  });

const STATES_MAX = 100;
