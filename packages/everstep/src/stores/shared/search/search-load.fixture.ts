/** Searches among very many documents, for the measurements of each store. */
import { performance } from 'node:perf_hooks';
import { type Filter, NO_BYTE_LIMIT, type SearchDocuments } from '../../../ports/stores/search-store.js';
import { seededNumbers } from '../../conformance/samples.js';

const BATCH = 1000;
const QUERIES_PER_KIND = 300;
const WORDS = 50_000;
const WORDS_PER_DOCUMENT = 12;

const numbers = seededNumbers(7);

/** The n-th word is n times as rare as the first, as in natural texts. */
const cumulated: number[] = [];
for (let n = 1; n <= WORDS; n++) cumulated.push((cumulated.at(-1) ?? 0) + 1 / n);
function word(): string {
  const at = (numbers(1_000_000) / 1_000_000) * (cumulated.at(-1) ?? 0);
  let [low, high] = [0, WORDS - 1];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((cumulated[middle] ?? 0) < at) low = middle + 1;
    else high = middle;
  }
  return `w${low.toString(36)}x`;
}
const words = (many: number): string => Array.from({ length: many }, word).join(' ');

/** The measured index. */
export const target = { indexId: 'idx_bench', namespace: 'bench' } as const;

/** Fills the index with `count` documents, and prints how long it took. */
export async function fill(documents: SearchDocuments, count: number): Promise<void> {
  const started = performance.now();
  for (let at = 0; at < count; at += BATCH) {
    const batch = Array.from({ length: Math.min(BATCH, count - at) }, (_, i) => ({
      id: `doc-${at + i}`,
      content: JSON.stringify({
        title: words(4),
        text: words(WORDS_PER_DOCUMENT - 4),
        category: `c${numbers(20)}`,
        price: numbers(1000),
      }),
      metadata: JSON.stringify({ tenant: `t${numbers(1000)}` }),
    }));
    await documents.upsert({ ...target, documents: batch });
  }
  const seconds = (performance.now() - started) / 1000;
  const { diskBytes } = await documents.info(target);
  const perSecond = Math.round(count / seconds);
  console.log(`filled with ${count} in ${seconds.toFixed(1)} s, ${perSecond} per second, ${Math.round(diskBytes / 2 ** 20)} MiB`);
}

const is = (of: 'content' | 'metadata', name: string, value: string | number): Filter => ({
  kind: 'compare',
  field: { of, steps: [name] },
  operator: '=',
  value,
});
const below = (price: number): Filter => ({
  kind: 'compare',
  field: { of: 'content', steps: ['price'] },
  operator: '<',
  value: price,
});
const KINDS: readonly (readonly [string, () => readonly [string, Filter | null]])[] = [
  ['one word, as frequent as in texts', () => [word(), null]],
  ['two words', () => [words(2), null]],
  ['three words', () => [words(3), null]],
  ['six words', () => [words(6), null]],
  ['twelve words', () => [words(12), null]],
  ['the most frequent word', () => ['w0x', null]],
  ['the four most frequent words', () => ['w0x w1x w2x w3x', null]],
  ['a rare word and the most frequent', () => [`w${(10_000 + numbers(30_000)).toString(36)}x w0x w1x`, null]],
  ['three words, of one tenant in 1000', () => [words(3), is('metadata', 'tenant', `t${numbers(1000)}`)]],
  ['three words, of one category in 20', () => [words(3), is('content', 'category', `c${numbers(20)}`)]],
  ['three words, below the middle price', () => [words(3), below(500)]],
];

function print(times: number[], found: number, name: string): void {
  times.sort((a, b) => a - b);
  const of = (share: number) => (times[Math.min(times.length - 1, Math.floor(times.length * share))] ?? 0).toFixed(1).padStart(7);
  const mean = (found / times.length).toFixed(1).padStart(5);
  console.log(`p50 ${of(0.5)}  p99 ${of(0.99)}  max ${of(1)}  found ${mean}  ${name}`);
}
/** Prints a line per kind of query, in ms. */
export async function measureSearches(documents: SearchDocuments): Promise<void> {
  const all: number[] = [];
  for (const [name, query] of KINDS) {
    const times: number[] = [];
    let found = 0;
    for (let i = 0; i < QUERIES_PER_KIND; i++) {
      const [text, filter] = query();
      const started = performance.now();
      found += (await documents.search({ maxBytes: NO_BYTE_LIMIT, ...target, text, limit: 10, filter })).length;
      times.push(performance.now() - started);
    }
    all.push(...times);
    print(times, found, name);
  }
  print(all, 0, 'all of them');
}
