import type { CaseGroup } from '../gate/limits/shape.ts';
import type { SuiteCase } from './suite-case.ts';

/** The suite, tags and severity of a case. Metadata can contain anything, so values that are not strings are ignored. */
export function groupOf({ suite, metadata }: Pick<SuiteCase, 'suite' | 'metadata'>): Omit<CaseGroup, 'case_id'> {
  const { tags, severity } = metadata ?? {};
  const named = (Array.isArray(tags) ? tags : [tags]).filter(isName).slice(0, TAGS_MAX);
  return {
    ...(suite !== undefined && { suite }),
    ...(named.length > 0 && { tags: named }),
    ...(isName(severity) && { severity }),
  };
}

function isName(value: unknown): value is string {
  return typeof value === 'string' && value.length > 0 && value.length <= NAME_UNITS_MAX;
}

const TAGS_MAX = 100;
const NAME_UNITS_MAX = 200;
