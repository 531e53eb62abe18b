import { json } from './json.ts';
import { junit } from './junit.ts';
import { markdown } from './markdown.ts';
import { terminal } from './terminal.ts';

export { type Paint, terminalReport } from './terminal.ts';

/** Every way to tell what came out, by the word that users have for it. */
export const reports = { json, junit, md: markdown, terminal };
