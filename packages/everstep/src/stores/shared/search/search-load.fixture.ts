/** Searches among very many documents, for the measurements of each store. */
import { performance } from 'node:perf_hooks';
import { type Filter, NO_BYTE_LIMIT, type SearchDocuments } from '../../../ports/stores/search-store.js';
import { seededNumbers } from '../../conformance/samples.js';

const BATCH_SIZE = 1000;
const QUERIES_PER_KIND = 300;
const VOCABULARY_SIZE = 50_000;
const WORDS_PER_DOCUMENT = 12;

const randomNumber = seededNumbers(7);

/** The n-th word is n times as rare as the first, as in natural texts. */
const cumulativeWeights: number[] = [];
for (let n = 1; n <= VOCABULARY_SIZE; n++) cumulativeWeights.push((cumulativeWeights.at(-1) ?? 0) + 1 / n);
function word(): string {
  const weight = (randomNumber(1_000_000) / 1_000_000) * (cumulativeWeights.at(-1) ?? 0);
  let [low, high] = [0, VOCABULARY_SIZE - 1];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((cumulativeWeights[middle] ?? 0) < weight) low = middle + 1;
    else high = middle;
  }
  return `w${low.toString(36)}x`;
}
const words = (count: number): string => Array.from({ length: count }, word).join(' ');

/** The measured index. */
export const target = { indexId: 'idx_bench', namespace: 'bench' } as const;

/** Fills the index with `count` documents, and prints how long it took. */
export async function fill(documents: SearchDocuments, count: number): Promise<void> {
  const startedAt = performance.now();
  for (let at = 0; at < count; at += BATCH_SIZE) {
    const batch = Array.from({ length: Math.min(BATCH_SIZE, count - at) }, (_, i) => ({
      id: `doc-${at + i}`,
      content: JSON.stringify({
        title: words(4),
        text: words(WORDS_PER_DOCUMENT - 4),
        category: `c${randomNumber(20)}`,
        price: randomNumber(1000),
      }),
      metadata: JSON.stringify({ tenant: `t${randomNumber(1000)}` }),
    }));
    await documents.upsert({ ...target, documents: batch });
  }
  const seconds = (performance.now() - startedAt) / 1000;
  const { diskBytes } = await documents.info(target);
  const perSecond = Math.round(count / seconds);
  console.log(`filled with ${count} in ${seconds.toFixed(1)} s, ${perSecond} per second, ${Math.round(diskBytes / 2 ** 20)} MiB`);
}

const equals = (of: 'content' | 'metadata', name: string, value: string | number): Filter => ({
  kind: 'compare',
  field: { of, steps: [name] },
  operator: '=',
  value,
});
const isPriceBelow = (price: number): Filter => ({
  kind: 'compare',
  field: { of: 'content', steps: ['price'] },
  operator: '<',
  value: price,
});
const QUERY_KINDS: readonly (readonly [string, () => readonly [string, Filter | null]])[] = [
  ['one word, as frequent as in texts', () => [word(), null]],
  ['two words', () => [words(2), null]],
  ['three words', () => [words(3), null]],
  ['six words', () => [words(6), null]],
  ['twelve words', () => [words(12), null]],
  ['the most frequent word', () => ['w0x', null]],
  ['the four most frequent words', () => ['w0x w1x w2x w3x', null]],
  ['a rare word and the most frequent', () => [`w${(10_000 + randomNumber(30_000)).toString(36)}x w0x w1x`, null]],
  ['three words, of one tenant in 1000', () => [words(3), equals('metadata', 'tenant', `t${randomNumber(1000)}`)]],
  ['three words, of one category in 20', () => [words(3), equals('content', 'category', `c${randomNumber(20)}`)]],
  ['three words, below the middle price', () => [words(3), isPriceBelow(500)]],
];

function print(durationsMs: number[], foundCount: number, name: string): void {
  durationsMs.sort((a, b) => a - b);
  const quantile = (share: number) =>
    (durationsMs[Math.min(durationsMs.length - 1, Math.floor(durationsMs.length * share))] ?? 0).toFixed(1).padStart(7);
  const mean = (foundCount / durationsMs.length).toFixed(1).padStart(5);
  console.log(`p50 ${quantile(0.5)}  p99 ${quantile(0.99)}  max ${quantile(1)}  found ${mean}  ${name}`);
}
/** Measures each kind of query and prints a line for it, in ms. */
export async function measureSearches(documents: SearchDocuments): Promise<void> {
  const allTimesMs: number[] = [];
  for (const [name, query] of QUERY_KINDS) {
    const timesMs: number[] = [];
    let foundCount = 0;
    for (let i = 0; i < QUERIES_PER_KIND; i++) {
      const [text, filter] = query();
      const startedAt = performance.now();
      foundCount += (await documents.search({ maxBytes: NO_BYTE_LIMIT, ...target, text, limit: 10, filter })).length;
      timesMs.push(performance.now() - startedAt);
    }
    allTimesMs.push(...timesMs);
    print(timesMs, foundCount, name);
  }
  print(allTimesMs, 0, 'all of them');
}
