/** Random numbers that depend only on a seed. */

/** Mixes the bits of two whole numbers into one (32 bits). */
export function mix(a, b) {
  let hash = Math.imul(a ^ 0x9e3779b9, 0x85ebca6b) ^ Math.imul(b + 0x7f4a7c15, 0xc2b2ae35);
  hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d);
  return (hash ^ (hash >>> 13)) >>> 0;
}

export class Random {
  #state;

  constructor(seed) {
    this.#state = seed >>> 0;
  }

  /** Returns a number from 0 to less than 1 (mulberry32). */
  next() {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let value = this.#state;
    value = Math.imul(value ^ (value >>> 15), value | 1);
    value ^= value + Math.imul(value ^ (value >>> 7), value | 61);
    return ((value ^ (value >>> 14)) >>> 0) / 4_294_967_296;
  }

  /** Returns a whole number below `end`. */
  below(end) {
    return Math.floor(this.next() * end);
  }

  /** Returns true with this probability. */
  chance(probability) {
    return this.next() < probability;
  }

  pick(list) {
    return list[this.below(list.length)];
  }
}
