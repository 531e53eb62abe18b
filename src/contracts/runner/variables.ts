/** Whether a variable has a prefix that RN8 forbids, because it is kept for credentials. */
export function isForbidden(name: string): boolean {
  return FORBIDDEN.test(name);
}

/** Whether a variable often holds a secret, or tells who ran the program. */
export function isTelling(name: string): boolean {
  return NAME.test(name) && (TELLING.test(name) || FORBIDDEN.test(name.toUpperCase()));
}

/** Whether Proctor gives every program a value of its own for it, which tells nothing of the machine or its user. */
export function isSetByProctor(name: string): boolean {
  return name === 'HOME' || name === 'PATH';
}

const NAME = /^\w+$/;

const FORBIDDEN = /^(?:SSH|NPM|GIT|AWS|OPENAI|ANTHROPIC)_/;

const TELLING = /TOKEN|SECRET|PASSW|CREDENTIAL|(?:^|_)KEY(?:$|_)|API_?KEY|^(?:HOME|PATH|USER|LOGNAME)$/i;
