import { asObject, memberOf, jsonObjectIn, smallText } from './folder.ts';
import type { Look } from './look.ts';

/** A `start` script in package.json, which Proctor can start with `npm run start`. */
export interface FoundStart {
  /** The port in the script or in .env. Without one, the agent probably reads PORT. */
  readonly port: number | undefined;
}

export function findStart({ cwd }: Look): FoundStart | undefined {
  const start = memberOf(memberOf(packageIn(cwd), 'scripts'), 'start');
  if (typeof start !== 'string') return undefined;
  const [port] = portsIn(start, IN_SCRIPT);
  return { port };
}

/** The ports that the folder names: in the scripts of package.json, .env and compose files. */
export function namedPorts(cwd: string): number[] {
  const scripts = Object.values(asObject(memberOf(packageIn(cwd), 'scripts')) ?? {});
  const compose = COMPOSE_FILES.map(file => smallText(cwd, file) ?? '');
  return [
    ...scripts.flatMap(script => (typeof script === 'string' ? portsIn(script, IN_SCRIPT) : [])),
    ...portsIn(smallText(cwd, '.env') ?? '', IN_ENV),
    ...compose.flatMap(text => portsIn(text, IN_COMPOSE)),
  ];
}

export function packageIn(cwd: string): unknown {
  const text = smallText(cwd, 'package.json');
  return text === undefined ? undefined : jsonObjectIn(Buffer.from(text));
}

function portsIn(text: string, pattern: RegExp): number[] {
  return [...text.matchAll(pattern)].map(([, digits]) => Number(digits)).filter(port => port > 0 && port < 65_536);
}

const COMPOSE_FILES = ['compose.yaml', 'compose.yml', 'docker-compose.yaml', 'docker-compose.yml'];
/** `PORT=3000`, `--port 3000`, `--port=3000`, `-p 3000`. */
const IN_SCRIPT = /(?:\bPORT=|--port[ =]|(?<=\s)-p )(\d{2,5})\b/g;
const IN_ENV = /^(?:export )?PORT=["']?(\d{2,5})["']?\s*$/gm;
/** The port of this machine in `- "8000:80"`. */
const IN_COMPOSE = /^\s*-\s*["']?(?:127\.0\.0\.1:)?(\d{2,5}):\d{2,5}["']?\s*$/gm;
