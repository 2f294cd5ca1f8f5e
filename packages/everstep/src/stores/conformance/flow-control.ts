import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { FlowControl, FlowControlState } from '../../engine/runs/run.js';
import type { Store, StoreWrite } from '../../ports/stores/store.js';
import { type OpenStore, withStore } from './harness.js';
import { apply, INSTANCE, OTHER_INSTANCE, T0 } from './samples.js';

const put = (flowControl: FlowControl, at = T0, instanceId = INSTANCE): StoreWrite => ({
  kind: 'put-flow-control',
  instanceId,
  flowControl,
  at,
});

const set = (part: 'paused' | 'limits', { window, ...state }: FlowControlState): StoreWrite => ({
  ...{ kind: 'set-flow-control', instanceId: INSTANCE },
  ...{ part, state, at: T0 },
});

const setWindow = (key: string, window: FlowControlState['window']): StoreWrite => ({
  kind: 'set-flow-window',
  instanceId: INSTANCE,
  key,
  window,
});

/** Returns the state of a key without limits, unless they are overridden. */
const sampleState = (key: string, overrides: Partial<FlowControlState> = {}): FlowControlState => ({
  key,
  parallelism: null,
  rate: null,
  periodMs: null,
  paused: false,
  parallelismPinned: false,
  ratePinned: false,
  window: null,
  ...overrides,
});

const find = (store: Store, key: string) => store.findFlowControl({ instanceId: INSTANCE, key });

export function flowControlConformance(open: OpenStore): void {
  describe('flow control keys', () => {
    test(
      'are listed in order, once each, by instance, with the latest limits seen',
      withStore(open, async (store) => {
        assert.deepEqual(await store.listFlowControls({ instanceId: INSTANCE }), []);
        assert.equal(await find(store, 'a'), null);
        await apply(store, [
          put({ key: 'b', parallelism: 1 }),
          put({ key: 'a' }),
          put({ key: 'c', parallelism: 1 }, T0, OTHER_INSTANCE),
        ]);
        await apply(store, [put({ key: 'b', rate: 5, periodMs: 1000 }, T0 + 1)]);
        const b = sampleState('b', { rate: 5, periodMs: 1000 });
        assert.deepEqual(await store.listFlowControls({ instanceId: INSTANCE }), [sampleState('a'), b]);
        assert.deepEqual(await find(store, 'b'), b);
        assert.equal(await find(store, 'c'), null);
        assert.equal(await store.findFlowControl({ instanceId: 'qi_nobody', key: 'a' }), null);
        assert.deepEqual(await store.listFlowControls({ instanceId: 'qi_nobody' }), []);
      }),
    );

    test(
      'keep their limits when a trigger contains none',
      withStore(open, async (store) => {
        await apply(store, [put({ key: 'a', parallelism: 3 }), put({ key: 'a' }, T0 + 1)]);
        assert.deepEqual(await find(store, 'a'), sampleState('a', { parallelism: 3 }));
      }),
    );

    for (const [parallelismPinned, ratePinned] of [
      [true, true],
      [true, false],
      [false, true],
    ] as const) {
      test(
        `keep pinned limits whatever a trigger contains, and accept those that a user sets (parallelism: ${parallelismPinned}, rate: ${ratePinned})`,
        withStore(open, async (store) => {
          const pinnedState = sampleState('a', { parallelism: 2, rate: 3, periodMs: 4_000, parallelismPinned, ratePinned });
          await apply(store, [
            put({ key: 'a', parallelism: 1 }),
            set('limits', pinnedState),
            put({ key: 'a', parallelism: 9 }, T0 + 1),
          ]);
          const afterParallelism = {
            parallelism: parallelismPinned ? 2 : 9,
            ...(ratePinned ? {} : { rate: null, periodMs: null }),
          };
          assert.deepEqual(await find(store, 'a'), { ...pinnedState, ...afterParallelism });
          await apply(store, [put({ key: 'a', parallelism: 5, rate: 6, periodMs: 1_000 }, T0 + 2)]);
          const afterBoth = {
            ...(parallelismPinned ? {} : { parallelism: 5 }),
            ...(ratePinned ? {} : { rate: 6, periodMs: 1_000 }),
          };
          assert.deepEqual(await find(store, 'a'), { ...pinnedState, ...afterBoth });
          await apply(store, [put({ key: 'a' }, T0 + 3)]);
          assert.deepEqual(await find(store, 'a'), { ...pinnedState, ...afterBoth }, 'a trigger without limits changes nothing');
          await apply(store, [set('limits', { ...pinnedState, parallelism: 4, rate: 7, periodMs: 60_000 })]);
          assert.deepEqual(await find(store, 'a'), { ...pinnedState, parallelism: 4, rate: 7, periodMs: 60_000 });
        }),
      );
    }

    test(
      'that a user sets are created if they are new, and stay paused when a trigger names them',
      withStore(open, async (store) => {
        const pausedState = sampleState('a', { paused: true });
        await apply(store, [set('paused', pausedState)]);
        assert.deepEqual(await store.listFlowControls({ instanceId: INSTANCE }), [pausedState]);
        await apply(store, [put({ key: 'a', parallelism: 1 })]);
        assert.deepEqual(await find(store, 'a'), { ...pausedState, parallelism: 1 });
      }),
    );

    test(
      'change only in the part that a user sets: another part and the rate window stay as another node has stored them',
      withStore(open, async (store) => {
        const limits = { parallelism: 5, rate: 100, periodMs: 1_000 };
        const window = { startedAt: T0, granted: 90 };
        await apply(store, [put({ key: 'a', ...limits }), setWindow('a', window)]);
        await apply(store, [set('paused', sampleState('a', { parallelism: 1, paused: true }))]);
        assert.deepEqual(await find(store, 'a'), sampleState('a', { ...limits, paused: true, window }));
        await apply(store, [set('limits', sampleState('a', { parallelism: 2, parallelismPinned: true }))]);
        const pinned = sampleState('a', { parallelism: 2, parallelismPinned: true, paused: true, window });
        assert.deepEqual(await find(store, 'a'), pinned);
        await apply(store, [
          set('limits', sampleState('a', { parallelism: 3 })),
          set('paused', sampleState('a')),
          put({ key: 'a', parallelism: 4 }),
        ]);
        assert.deepEqual(await find(store, 'a'), sampleState('a', { parallelism: 4, window }));
      }),
    );

    test(
      'keep the number of starts granted in their window until another window replaces it, even after a restart',
      withStore(open, async (store, underTest) => {
        const limits = { key: 'a', rate: 5, periodMs: 1000 };
        await apply(store, [put(limits), setWindow('a', { startedAt: T0 + 5, granted: 2 })]);
        await apply(store, [setWindow('a', { startedAt: T0 + 5, granted: 4 }), put({ ...limits, rate: 6 }, T0 + 6)]);
        const expected = sampleState('a', { rate: 6, periodMs: 1000, window: { startedAt: T0 + 5, granted: 4 } });
        const reopened = await underTest.reopen();
        assert.deepEqual(await find(reopened, 'a'), expected);
        assert.equal(await reopened.latestTime(), T0 + 6);

        await apply(reopened, [setWindow('a', null)]);
        assert.deepEqual(await find(reopened, 'a'), { ...expected, window: null });
        await apply(reopened, [setWindow('new', { startedAt: T0 + 9, granted: 1 })]);
        assert.deepEqual(await find(reopened, 'new'), sampleState('new', { window: { startedAt: T0 + 9, granted: 1 } }));
      }),
    );
  });
}
