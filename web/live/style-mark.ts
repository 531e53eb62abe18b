/** The nonce with which this page's policy allows styles in frames. */
export const styleMark = (): string => document.querySelector<HTMLMetaElement>('meta[name=style-mark]')?.content ?? '';
