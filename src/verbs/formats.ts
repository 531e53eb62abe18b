export const FORMATS = ['html', 'junit', 'md', 'json', 'terminal'] as const;

export type Format = (typeof FORMATS)[number];
