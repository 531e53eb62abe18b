import { randomBytes } from 'node:crypto';

/**
 * A set of texts that stores a fingerprint of eight bytes per text. With the free slots, a million ids fit into 16 MB.
 * Two texts collide with a probability of 2^-64. The seed is random, so an attacker cannot construct a collision.
 */
export class Fingerprints {
  readonly #max: number;
  readonly #seed = randomBytes(8);
  /** The two halves of each fingerprint. A pair of zeros is a free slot. */
  #slots = new Uint32Array(2 * 1024);
  #count = 0;

  constructor(max: number) {
    this.#max = max;
  }

  get isFull(): boolean {
    return this.#count >= this.#max;
  }

  /** Whether the text is in the set. Adds it, unless the set is full. */
  hasMet(text: string): boolean {
    const [high, low] = this.#fingerprint(text);
    const slot = slotOf(this.#slots, high, low);
    if (this.#slots[slot] !== 0 || this.#slots[slot + 1] !== 0) return true;
    if (this.isFull) return false;
    this.#slots[slot] = high;
    this.#slots[slot + 1] = low;
    this.#count++;
    if (4 * this.#count > this.#slots.length) this.#grow();
    return false;
  }

  #fingerprint(text: string): readonly [number, number] {
    let high = this.#seed.readUInt32LE(0);
    let low = this.#seed.readUInt32LE(4);
    for (let index = 0; index < text.length; index++) {
      const unit = text.charCodeAt(index);
      high = Math.imul(high ^ unit, 0x85ebca6b);
      high ^= high >>> 15;
      low = Math.imul(low ^ unit, 0xc2b2ae35);
      low ^= low >>> 13;
    }
    high = Math.imul(high ^ (low >>> 16), 0x9e3779b1) >>> 0;
    low = Math.imul(low ^ (high >>> 13), 0x27d4eb2f) >>> 0;
    return high === 0 && low === 0 ? [0, 1] : [high, low];
  }

  #grow(): void {
    const old = this.#slots;
    this.#slots = new Uint32Array(2 * old.length);
    for (let slot = 0; slot < old.length; slot += 2) {
      const high = old[slot] as number;
      const low = old[slot + 1] as number;
      if (high === 0 && low === 0) continue;
      const target = slotOf(this.#slots, high, low);
      this.#slots[target] = high;
      this.#slots[target + 1] = low;
    }
  }
}

/** The slot of a fingerprint, or the free slot where it belongs. */
function slotOf(slots: Uint32Array, high: number, low: number): number {
  const mask = slots.length / 2 - 1;
  for (let index = low & mask; ; index = (index + 1) & mask) {
    const slot = 2 * index;
    if (slots[slot] === high && slots[slot + 1] === low) return slot;
    if (slots[slot] === 0 && slots[slot + 1] === 0) return slot;
  }
}
