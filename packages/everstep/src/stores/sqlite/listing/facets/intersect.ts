/**
 * Walks the intersection of sources from one end to the other. The cost depends on the number of blocks, of 4,096 rows each, that
 * all sources have, and not on the number of rows: gaps of a source are skipped.
 */
import { BLOCK_SIZE, BLOCK_WORDS, blockOf } from './block-set.js';
import type { Direction, Members } from './members.js';

/** A range of row numbers, both ends inclusive. */
export interface SeqRange {
  readonly from: number;
  readonly to: number;
}

/** The first read covers few blocks, because most pages are then full; each further one covers four times as many. */
const FIRST_WINDOW_BLOCKS = 2;
const WINDOW_GROWTH = 4;
const LAST_WINDOW_BLOCKS = 128;

/** Returns the rows within `range` that all of `sources` (at least one) have, in the order of `direction`. */
export function* intersect(sources: readonly Members[], range: SeqRange, direction: Direction): Generator<number> {
  const isUp = direction === 'up';
  const step = isUp ? 1 : -1;
  const orderedSources = [...sources].sort((a, b) => a.work - b.work);
  const endBlock = blockOf(isUp ? range.to : range.from);
  let block = blockOf(isUp ? range.from : range.to);
  if (range.from > range.to) return;

  for (let maxBlocks = FIRST_WINDOW_BLOCKS; ; maxBlocks = Math.min(maxBlocks * WINDOW_GROWTH, LAST_WINDOW_BLOCKS)) {
    const nearestBlock = seekAll(orderedSources, block);
    if (nearestBlock === null || (endBlock - nearestBlock) * step < 0) return;
    const furtherBlocks = Math.min(Math.abs(endBlock - nearestBlock), maxBlocks - 1);
    const first = isUp ? nearestBlock : nearestBlock - furtherBlocks;
    const last = isUp ? nearestBlock + furtherBlocks : nearestBlock;
    const window = intersectBlocks(orderedSources, first, last);
    if (window) yield* seqsIn(window, first * BLOCK_SIZE, range, isUp);
    block = (isUp ? last : first) + step;
    if ((endBlock - block) * step < 0) return;
  }
}

/** Returns the first block from `from` on that may have rows of all sources; null if there is none. */
function seekAll(sources: readonly Members[], from: number): number | null {
  let block = from;
  for (const source of sources) {
    const nearest = source.seek(block);
    if (nearest === null) return null;
    block = nearest;
  }
  return block;
}

/** Returns the bitmap of the rows that all sources have in these blocks; null if there are none. */
function intersectBlocks(sources: readonly Members[], first: number, last: number): Uint32Array | null {
  const words = (last - first + 1) * BLOCK_WORDS;
  const window = new Uint32Array(words);
  let sourceWindow: Uint32Array | null = null;
  for (const [index, source] of sources.entries()) {
    if (index === 0) {
      source.load(window, first, last);
      continue;
    }
    sourceWindow ??= new Uint32Array(words);
    if (index > 1) sourceWindow.fill(0);
    source.load(sourceWindow, first, last);
    let sharedBits = 0;
    for (let word = 0; word < words; word++) {
      const commonBits = (window[word] ?? 0) & (sourceWindow[word] ?? 0);
      window[word] = commonBits;
      sharedBits |= commonBits;
    }
    if (sharedBits === 0) return null;
  }
  return window;
}

function* seqsIn(window: Uint32Array, base: number, range: SeqRange, isUp: boolean): Generator<number> {
  for (let i = 0; i < window.length; i++) {
    const word = isUp ? i : window.length - 1 - i;
    let remainingBits = window[word] ?? 0;
    while (remainingBits !== 0) {
      const bit = isUp ? 31 - Math.clz32(remainingBits & -remainingBits) : 31 - Math.clz32(remainingBits);
      remainingBits &= ~(1 << bit);
      const seq = base + word * 32 + bit;
      if (seq >= range.from && seq <= range.to) yield seq;
    }
  }
}
