import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { MAX_LOGIN_LOCATIONS } from '../../../ports/stores/account-store.js';
import { type OpenStore, withStore } from '../harness.js';
import { T0 } from '../samples.js';

export function loginConformance(open: OpenStore): void {
  describe('login locations', () => {
    test(
      'are noted for each user with the time of the latest login, and are kept after a restart',
      withStore(open, async (store, underTest) => {
        const note = (userId: string, place: string, at: number) => store.accounts.noteLogin({ userId, place, at });
        await note('usr_ann', 'home', T0);
        await note('usr_ann', 'home', T0 + 5);
        await note('usr_ann', 'home', T0 + 1);
        await note('usr_ann', 'work', T0 + 2);
        await note('usr_ben', 'home', T0 + 3);
        const { accounts } = await underTest.reopen();
        const lastLoginAt = (userId: string, place: string) => accounts.lastLoginAt({ userId, place });
        assert.deepEqual(
          [await lastLoginAt('usr_ann', 'home'), await lastLoginAt('usr_ann', 'work'), await lastLoginAt('usr_ben', 'home')],
          [T0 + 5, T0 + 2, T0 + 3],
        );
        assert.deepEqual([await lastLoginAt('usr_ben', 'work'), await lastLoginAt('usr_none', 'home')], [null, null]);
      }),
    );

    test(
      'of one user are limited, and the least recently used one is removed first',
      withStore(open, async ({ accounts }) => {
        const note = (userId: string, place: number, at: number) => accounts.noteLogin({ userId, place: `p${place}`, at });
        const isNoted = async (userId: string, place: number) =>
          (await accounts.lastLoginAt({ userId, place: `p${place}` })) !== null;
        await note('usr_ben', 0, T0 - 1);
        for (let place = 0; place < MAX_LOGIN_LOCATIONS; place++) await note('usr_ann', place, T0 + place);
        await note('usr_ann', 0, T0 + 1_000);
        assert.equal(await isNoted('usr_ann', 1), true);
        await note('usr_ann', 1_000, T0 + 1_001);
        assert.deepEqual([await isNoted('usr_ann', 0), await isNoted('usr_ann', 1)], [true, false]);
        assert.deepEqual([await isNoted('usr_ann', 2), await isNoted('usr_ann', 1_000)], [true, true]);
        assert.equal(await isNoted('usr_ben', 0), true);
      }),
    );
  });
}
