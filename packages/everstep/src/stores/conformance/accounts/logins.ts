import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { MAX_LOGIN_LOCATIONS } from '../../../ports/stores/account-store.js';
import { type OpenStore, withStore } from '../harness.js';
import { T0 } from '../samples.js';

export function loginConformance(open: OpenStore): void {
  describe('login locations', () => {
    test(
      'are recorded for each user with the time of the latest login, and are kept after a restart',
      withStore(open, async (store, underTest) => {
        const record = (userId: string, location: string, at: number) => store.accounts.recordLogin({ userId, location, at });
        await record('usr_ann', 'home', T0);
        await record('usr_ann', 'home', T0 + 5);
        await record('usr_ann', 'home', T0 + 1);
        await record('usr_ann', 'work', T0 + 2);
        await record('usr_ben', 'home', T0 + 3);
        const { accounts } = await underTest.reopen();
        const lastLoginAt = (userId: string, location: string) => accounts.lastLoginAt({ userId, location });
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
        const record = (userId: string, location: number, at: number) =>
          accounts.recordLogin({ userId, location: `p${location}`, at });
        const isRecorded = async (userId: string, location: number) =>
          (await accounts.lastLoginAt({ userId, location: `p${location}` })) !== null;
        await record('usr_ben', 0, T0 - 1);
        for (let location = 0; location < MAX_LOGIN_LOCATIONS; location++) await record('usr_ann', location, T0 + location);
        await record('usr_ann', 0, T0 + 1_000);
        assert.equal(await isRecorded('usr_ann', 1), true);
        await record('usr_ann', 1_000, T0 + 1_001);
        assert.deepEqual([await isRecorded('usr_ann', 0), await isRecorded('usr_ann', 1)], [true, false]);
        assert.deepEqual([await isRecorded('usr_ann', 2), await isRecorded('usr_ann', 1_000)], [true, true]);
        assert.equal(await isRecorded('usr_ben', 0), true);
      }),
    );
  });
}
