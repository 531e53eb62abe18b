import { annotations } from './annotations.ts';
import { codequality } from './codequality.ts';
import { json } from './json.ts';
import { junit } from './junit.ts';
import { markdown } from './markdown.ts';
import { terminal } from './terminal.ts';

export { type PaintText, terminalReport } from './terminal.ts';

/** All report formats, by the name that users type. */
export const reports = { json, junit, md: markdown, terminal, annotations, codequality };
