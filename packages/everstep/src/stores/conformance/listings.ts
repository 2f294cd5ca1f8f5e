/** Compares listings with a model, which tests every entry. The seeds are fixed; the message of a failure contains the query. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Listing, Page } from '../../ports/stores/store.js';
import { type OpenStore, withStore } from './harness.js';
import { deadLetterFilter, ENTRY_COUNT, fillStore, matchesDeadLetter, matchesRun, pick, runFilter } from './listing-model.js';
import { apply, creation, failure, INSTANCE, sampleRun, seededNumbers, unit } from './samples.js';

const QUERIES = 150;
/** Maximum number of pages of one listing. Further pages would test nothing new, but take most of the time. */
const MAX_PAGES = 12;

/** Returns all items of a listing, and checks that each page except the last one is full. */
async function everyPage<Filter, Item>(
  list: (page: Page<Filter>) => Promise<Listing<Item>>,
  firstPage: Page<Filter>,
): Promise<Item[]> {
  const items: Item[] = [];
  for (let page = firstPage; ; ) {
    const { items: pageItems, next } = await list(page);
    items.push(...pageItems);
    if (next === null) return items;
    assert.equal(pageItems.length, page.limit);
    assert.match(next, /^[\x21-\x7e]{1,64}$/);
    page = { ...page, after: next };
    // A listing must end.
    assert.ok(items.length <= ENTRY_COUNT);
  }
}

const minLimit = (expected: readonly unknown[]) => Math.max(1, Math.ceil(expected.length / MAX_PAGES));

export function listingConformance(open: OpenStore): void {
  describe('listings', () => {
    test(
      'every filter, order and page size returns the entries that the model finds',
      withStore(open, async (store) => {
        const numbers = seededNumbers(2);
        const model = await fillStore(store, numbers);
        const oldestFirst = model.filter(({ run }) => run.instanceId === INSTANCE);
        const newestFirst = oldestFirst.toReversed();
        let matchCount = 0;
        for (let query = 0; query < QUERIES; query++) {
          const order = query % 2 === 0 ? 'newest-first' : 'oldest-first';
          const basePage = { instanceId: INSTANCE, order, after: null, horizon: null } as const;
          const instanceEntries = order === 'newest-first' ? newestFirst : oldestFirst;

          const entryFilter = deadLetterFilter(numbers, model);
          const expectedIds = instanceEntries
            .filter((item) => matchesDeadLetter(entryFilter, item))
            .map(({ entry }) => entry?.dlqId);
          const limit = pick([1, 7, 100, expectedIds.length, expectedIds.length - 1], numbers);
          const entryPage = { ...basePage, filter: entryFilter, limit: Math.max(limit, minLimit(expectedIds)) };
          assert.deepEqual(
            await everyPage((page) => store.listDeadLetterIds(page), entryPage),
            expectedIds,
            JSON.stringify(entryPage),
          );
          const deadLetters = await store.listDeadLetters({ ...entryPage, limit: 10 });
          assert.deepEqual(
            deadLetters.items.map(({ dlqId }) => dlqId),
            expectedIds.slice(0, 10),
            JSON.stringify(entryPage),
          );
          const nextDeadLetters =
            deadLetters.next === null
              ? []
              : (await store.listDeadLetters({ ...entryPage, after: deadLetters.next, limit: 3 })).items;
          assert.deepEqual(
            nextDeadLetters.map(({ dlqId }) => dlqId),
            expectedIds.slice(10, 13),
            JSON.stringify(entryPage),
          );

          const runsFilter = runFilter(numbers, model);
          const expectedKeys = instanceEntries.filter((item) => matchesRun(runsFilter, item)).map(({ run }) => run.key);
          const runPage = { ...basePage, filter: runsFilter, limit: pick([10, 1000], numbers) };
          const searchableRuns = await store.listSearchableRuns(runPage);
          assert.deepEqual(
            searchableRuns.items.map(({ runKey }) => runKey),
            expectedKeys.slice(0, runPage.limit),
            JSON.stringify(runPage),
          );
          assert.equal(searchableRuns.next, expectedKeys.length > runPage.limit ? searchableRuns.items.at(-1)?.position : null);
          if (expectedKeys.length < 1500) {
            const allPages = { ...runPage, limit: Math.max(runPage.limit, minLimit(expectedKeys)) };
            const listedKeys = (await everyPage((page) => store.listRuns(page), allPages)).map(({ key }) => key);
            assert.deepEqual(listedKeys, expectedKeys, JSON.stringify(allPages));
          } else {
            const listedRuns = await store.listRuns(runPage);
            assert.deepEqual(
              listedRuns.items.map(({ key }) => key),
              expectedKeys.slice(0, runPage.limit),
              JSON.stringify(runPage),
            );
            assert.deepEqual(
              searchableRuns.items.map(({ completedAt }) => completedAt),
              listedRuns.items.map(({ completedAt }) => completedAt),
            );
          }
          matchCount += Math.sign(expectedIds.length) + Math.sign(expectedKeys.length);
        }
        assert.ok(matchCount > QUERIES / 2, `only ${matchCount} queries found something`);
      }),
    );

    test(
      'pages neither skip nor repeat entries while entries are added and taken',
      withStore(open, async (store) => {
        const runs = Array.from({ length: 30 }, (_, n) => sampleRun(n));
        await store.commit(runs.map((run) => unit([creation(run), ...failure(run)])));
        for (const order of ['newest-first', 'oldest-first'] as const) {
          const horizon = await store.deadLetterHorizon({ instanceId: INSTANCE });
          const presentIds = await everyPage((page) => store.listDeadLetterIds(page), {
            instanceId: INSTANCE,
            filter: {},
            order,
            after: null,
            horizon,
            limit: 100,
          });
          const seenIds: string[] = [];
          let after: string | null = null;
          for (let n = 0; ; n++) {
            const page: Listing<string> = await store.listDeadLetterIds({
              instanceId: INSTANCE,
              filter: {},
              order,
              after,
              horizon,
              limit: 4,
            });
            seenIds.push(...page.items);
            if (page.next === null) break;
            after = page.next;
            // One entry is added, and the last one on the page is taken.
            const lateRun = sampleRun(1000 + n + (order === 'newest-first' ? 0 : 100));
            await apply(store, [creation(lateRun), ...failure(lateRun)]);
            await apply(store, [
              { kind: 'take-dead-letter', instanceId: INSTANCE, dlqId: page.items.at(-1) ?? '', recoveredAs: null },
            ]);
          }
          assert.deepEqual(seenIds, presentIds);
        }
      }),
    );

    test(
      'a run listing excludes runs that were created after its horizon',
      withStore(open, async (store) => {
        await apply(store, [creation(sampleRun(1))]);
        const horizon = await store.runHorizon({ instanceId: INSTANCE });
        await apply(store, [creation(sampleRun(2))]);
        const page = { instanceId: INSTANCE, filter: {}, order: 'newest-first', after: null, horizon, limit: 5 } as const;
        assert.deepEqual(
          (await store.listRuns(page)).items.map(({ key }) => key),
          [sampleRun(1).key],
        );
      }),
    );

    test(
      'a filter with an empty list, or an instance without data, matches nothing',
      withStore(open, async (store) => {
        const run = sampleRun(1);
        await apply(store, [creation(run), ...failure(run)]);
        const page = { instanceId: INSTANCE, order: 'newest-first', after: null, horizon: null, limit: 5 } as const;
        const emptyListing = { items: [], next: null };
        assert.deepEqual(await store.listDeadLetters({ ...page, filter: { labels: [] } }), emptyListing);
        assert.deepEqual(await store.listDeadLetters({ ...page, filter: { dlqIds: [] } }), emptyListing);
        assert.deepEqual(await store.listRuns({ ...page, filter: { statuses: [] } }), emptyListing);
        assert.deepEqual(await store.listRuns({ ...page, instanceId: 'qi_unknown', filter: {} }), emptyListing);
        assert.deepEqual(await store.listDeadLetterIds({ ...page, instanceId: 'qi_unknown', filter: {} }), emptyListing);
      }),
    );

    test(
      'an invalid position or page size is rejected',
      withStore(open, async (store) => {
        await apply(store, [creation(sampleRun(1))]);
        const page = { instanceId: INSTANCE, filter: {}, order: 'newest-first', after: null, horizon: null, limit: 5 } as const;
        for (const invalidField of [{ after: 'x' }, { after: '' }, { horizon: '-1' }, { limit: 0 }, { limit: 1.5 }]) {
          await assert.rejects(store.listRuns({ ...page, ...invalidField }), RangeError, JSON.stringify(invalidField));
        }
      }),
    );
  });
}
