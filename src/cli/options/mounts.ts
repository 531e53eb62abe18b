import { Fault } from '../../base/fault.ts';
import { mountIn } from '../../contracts/suite/index.ts';

/** `DIR` or `DIR:PATH`. */
export function mountOf(text: string): ReturnType<typeof mountIn> {
  const mount = mountIn(text);
  if (mount.dir === '' || mount.path === '') throw new Fault('usage', 'Use --mount DIR or --mount DIR:PATH.');
  return mount;
}
