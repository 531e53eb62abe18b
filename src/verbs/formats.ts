export const FORMATS = ['html', 'junit', 'md', 'json', 'terminal', 'annotations', 'codequality'] as const;

export type Format = (typeof FORMATS)[number];
