/**
 * The members of one facet value in one block of row numbers: a set of offsets from 0 to 4,095. A small set is a sorted list, a
 * larger one a bitmap. The file uses the same two forms, which differ in length.
 */
export const BLOCK_BITS = 12;
export const BLOCK_SIZE = 1 << BLOCK_BITS;
/** 32-bit words of a bitmap. */
export const BLOCK_WORDS = BLOCK_SIZE / 32;
const BITMAP_BYTES = BLOCK_SIZE / 8;
/** From this size on, a list of two-byte offsets would be as long as the bitmap. */
const MIN_BITMAP_SIZE = BITMAP_BYTES / 2;

// Row numbers can exceed 32 bits, so they cannot be shifted.
export const blockOf = (seq: number): number => Math.floor(seq / BLOCK_SIZE);
export const offsetOf = (seq: number): number => seq % BLOCK_SIZE;

// Indexes are always within bounds here; the compiler cannot know.
const byteAt = (encoded: Uint8Array, i: number): number => encoded[i] ?? 0;
const wordAt = (words: Uint32Array, i: number): number => words[i] ?? 0;
const offsetAt = (encoded: Uint8Array, i: number): number => byteAt(encoded, i) | (byteAt(encoded, i + 1) << 8);
const setBits = (words: Uint32Array, i: number, bits: number): void => {
  words[i] = wordAt(words, i) | bits;
};

/** Sets the bits of an encoded set in `target`, from word `at` on. */
export function orEncoded(encoded: Uint8Array, target: Uint32Array, at: number): void {
  if (encoded.length === BITMAP_BYTES) {
    for (let word = 0, i = 0; word < BLOCK_WORDS; word++, i += 4) {
      const bits =
        byteAt(encoded, i) | (byteAt(encoded, i + 1) << 8) | (byteAt(encoded, i + 2) << 16) | (byteAt(encoded, i + 3) << 24);
      setBits(target, at + word, bits);
    }
    return;
  }
  for (let i = 0; i < encoded.length; i += 2) {
    const offset = offsetAt(encoded, i);
    setBits(target, at + (offset >> 5), 1 << (offset & 31));
  }
}

/** Like `orEncoded`, for an encoded set that is in `text` from `start` to `end` as uppercase hexadecimal. */
export function orHexadecimal(text: string, start: number, end: number, target: Uint32Array, at: number): void {
  if (end - start === BITMAP_BYTES * 2) {
    for (let word = 0, i = start; word < BLOCK_WORDS; word++, i += 8) {
      setBits(target, at + word, offsetInHex(text, i) | (offsetInHex(text, i + 4) << 16));
    }
    return;
  }
  for (let i = start; i < end; i += 4) {
    const offset = offsetInHex(text, i);
    setBits(target, at + (offset >> 5), 1 << (offset & 31));
  }
}

/** Returns the offset at `i`: two bytes, the lower one first. */
const offsetInHex = (text: string, i: number): number =>
  (digit(text, i) << 4) | digit(text, i + 1) | (digit(text, i + 2) << 12) | (digit(text, i + 3) << 8);

function digit(text: string, i: number): number {
  const code = text.charCodeAt(i);
  return code < 0x41 ? code - 0x30 : code - 0x37;
}

/** Returns the largest offset of an encoded set, which must not be empty. */
export function largestOffset(encoded: Uint8Array): number {
  if (encoded.length !== BITMAP_BYTES) return offsetAt(encoded, encoded.length - 2);
  let i = BITMAP_BYTES - 1;
  while (encoded[i] === 0) i--;
  return i * 8 + 31 - Math.clz32(byteAt(encoded, i));
}

export class BlockSet {
  /** Sorted offsets; null once there is a bitmap. */
  private list: number[] | null = [];
  private bitmap: Uint32Array | null = null;
  private count = 0;

  get size(): number {
    return this.count;
  }

  static decode(encoded: Uint8Array): BlockSet {
    const set = new BlockSet();
    if (encoded.length !== BITMAP_BYTES) {
      const list: number[] = [];
      for (let i = 0; i < encoded.length; i += 2) list.push(offsetAt(encoded, i));
      set.list = list;
      set.count = list.length;
      return set;
    }
    const bitmap = new Uint32Array(BLOCK_WORDS);
    orEncoded(encoded, bitmap, 0);
    set.list = null;
    set.bitmap = bitmap;
    for (let remainingBits of bitmap) for (; remainingBits !== 0; remainingBits &= remainingBits - 1) set.count++;
    return set;
  }

  add(offset: number): void {
    const { list, bitmap } = this;
    if (bitmap) {
      const bit = 1 << (offset & 31);
      if ((wordAt(bitmap, offset >> 5) & bit) !== 0) return;
      setBits(bitmap, offset >> 5, bit);
      this.count++;
    } else if (list) {
      // New rows have the largest offset, so this ends immediately.
      let index = list.length;
      while (index > 0 && (list[index - 1] ?? 0) > offset) index--;
      if (index > 0 && list[index - 1] === offset) return;
      if (index === list.length) list.push(offset);
      else list.splice(index, 0, offset);
      this.count++;
      if (this.count >= MIN_BITMAP_SIZE) this.toBitmap(list);
    }
  }

  delete(offset: number): void {
    const { list, bitmap } = this;
    if (bitmap) {
      const bit = 1 << (offset & 31);
      const word = wordAt(bitmap, offset >> 5);
      if ((word & bit) === 0) return;
      bitmap[offset >> 5] = word & ~bit;
      this.count--;
    } else if (list) {
      const index = list.indexOf(offset);
      if (index < 0) return;
      list.splice(index, 1);
      this.count--;
    }
  }

  private toBitmap(list: readonly number[]): void {
    const bitmap = new Uint32Array(BLOCK_WORDS);
    for (const offset of list) setBits(bitmap, offset >> 5, 1 << (offset & 31));
    this.bitmap = bitmap;
    this.list = null;
  }

  /** Encodes the set, little-endian on every machine, so that a file is portable. */
  encode(): Uint8Array {
    const { list, bitmap } = this;
    if (bitmap && this.count >= MIN_BITMAP_SIZE) {
      const encoded = new Uint8Array(BITMAP_BYTES);
      for (let word = 0, i = 0; word < BLOCK_WORDS; word++, i += 4) {
        const bits = wordAt(bitmap, word);
        encoded[i] = bits;
        encoded[i + 1] = bits >>> 8;
        encoded[i + 2] = bits >>> 16;
        encoded[i + 3] = bits >>> 24;
      }
      return encoded;
    }
    const encoded = new Uint8Array(this.count * 2);
    let i = 0;
    const put = (offset: number) => {
      encoded[i++] = offset;
      encoded[i++] = offset >> 8;
    };
    if (list) for (const offset of list) put(offset);
    else if (bitmap) for (const offset of offsetsIn(bitmap)) put(offset);
    return encoded;
  }
}

function* offsetsIn(bitmap: Uint32Array): Generator<number> {
  for (let word = 0; word < bitmap.length; word++) {
    for (let remainingBits = wordAt(bitmap, word); remainingBits !== 0; remainingBits &= remainingBits - 1)
      yield word * 32 + 31 - Math.clz32(remainingBits & -remainingBits);
  }
}
