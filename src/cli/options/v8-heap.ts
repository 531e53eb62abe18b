import { setFlagsFromString } from 'node:v8';

/** Keeps V8's young generation small. Records in a stream die too soon to need the 32 MB it would grow to. */
export function stayYoung(): void {
  setFlagsFromString('--semi-space-growth-factor=1');
}

/** Makes V8 collect garbage after 50 % heap growth instead of 100 %. */
export function stayLean(): void {
  setFlagsFromString('--heap-growing-percent=50');
}
