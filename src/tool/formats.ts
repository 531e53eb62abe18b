export const FORMATS = ['html', 'junit', 'md', 'json', 'terminal'] as const;

/** The ways in which reports are written. */
export type Format = (typeof FORMATS)[number];
