/** Whether RN8 forbids the prefix of a variable, because it is reserved for credentials. */
export function isForbidden(name: string): boolean {
  return FORBIDDEN.test(name);
}

/** Whether a variable often holds a secret or reveals the user. */
export function isRevealing(name: string): boolean {
  return NAME.test(name) && (TELLING.test(name) || FORBIDDEN.test(name.toUpperCase()));
}

/** Whether Proctor sets this variable for every program, so that its value reveals nothing about the host or the user. */
export function isSetByProctor(name: string): boolean {
  return name === 'HOME' || name === 'PATH' || name === 'npm_config_update_notifier';
}

const NAME = /^\w+$/;

const FORBIDDEN = /^(?:SSH|NPM|GIT|AWS|OPENAI|ANTHROPIC)_/;

const TELLING = /TOKEN|SECRET|PASSW|CREDENTIAL|(?:^|_)KEY(?:$|_)|API_?KEY|^(?:HOME|PATH|USER|LOGNAME)$/i;
