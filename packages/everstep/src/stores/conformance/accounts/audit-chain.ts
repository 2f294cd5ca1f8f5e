import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { GENESIS, hashOf } from '../../../audit/chain.js';
import type { AuditStore, ChainLink } from '../../../ports/stores/audit-store.js';
import type { Store } from '../../../ports/stores/store.js';
import { type OpenStore, withStore } from '../harness.js';
import { T0 } from '../samples.js';
import { sampleAudit } from './account-samples.js';

const REQUEST = {
  operation: 'cancelRun',
  credential: 'token tok_1 (ci)',
  userAgent: 'curl/8 "é"',
  instanceId: 'qi_a',
  outcome: 'done',
} as const;

async function add(store: Store, from: number, to: number): Promise<void> {
  for (let n = from; n <= to; n++) {
    const requestField = n % 2 === 0 ? { request: REQUEST } : {};
    await store.accounts.addAudit(sampleAudit(n, ['acc', 'acc', `acc_${n}`], { at: T0 + n * 1_000, ...requestField }));
  }
}

async function addSealed(store: Store, from: number, to: number): Promise<void> {
  await add(store, from, to);
  while ((await store.audit.seal({ limit: 2 })) > 0);
}

const readChain = (audit: AuditStore, bounds: { readonly from?: number; readonly to?: number } = {}) =>
  audit.chained({ after: 0, limit: 100, from: bounds.from ?? null, to: bounds.to ?? null });
const idsOf = (links: readonly Pick<ChainLink, 'entry'>[]) => links.map(({ entry }) => entry?.auditId);

export function auditChainConformance(open: OpenStore): void {
  describe('the chain of the audit log', () => {
    test(
      'contains each entry once, as it was written, with a hash over it and the previous entry',
      withStore(open, async (store, underTest) => {
        assert.deepEqual(await store.audit.head(), { seq: 0, hash: GENESIS });
        await addSealed(store, 1, 5);
        assert.equal(await store.audit.seal({ limit: 9 }), 0);
        const { audit, accounts } = await underTest.reopen();
        const chain = await readChain(audit);
        assert.deepEqual(idsOf(chain), ['aud_1', 'aud_2', 'aud_3', 'aud_4', 'aud_5']);
        assert.deepEqual([chain[1]?.entry.request, chain[2]?.entry.request], [REQUEST, undefined]);
        let previousHash = GENESIS;
        for (const { entry, hash } of chain) {
          assert.equal(hash, hashOf(previousHash, entry));
          previousHash = hash;
        }
        const lastEntry = chain.at(-1);
        assert.deepEqual(await audit.head(), { seq: lastEntry?.seq, hash: lastEntry?.hash });
        const [newestEntry, ...otherEntries] = await accounts.listAudit({ accountIds: null, after: null, limit: 9 });
        assert.deepEqual([newestEntry?.auditId, otherEntries.length], ['aud_5', 4], 'all accounts');
        const olderEntries = await accounts.listAudit({ accountIds: null, after: 'aud_3', limit: 9 });
        assert.deepEqual(idsOf(olderEntries.map((entry) => ({ entry }))), ['aud_2', 'aud_1']);
      }),
    );

    test(
      'is read by number and by time',
      withStore(open, async (store) => {
        await addSealed(store, 1, 6);
        const { audit } = store;
        const [first, , third] = await readChain(audit);
        assert.ok(first && third);
        assert.deepEqual(idsOf(await audit.chained({ after: first.seq, limit: 2, from: null, to: null })), ['aud_2', 'aud_3']);
        assert.deepEqual(idsOf(await readChain(audit, { from: T0 + 2_000, to: T0 + 4_000 })), ['aud_2', 'aud_3', 'aud_4']);
        const laterLinks = await audit.chained({ after: third.seq, limit: 9, from: T0 + 2_000, to: T0 + 4_000 });
        assert.deepEqual(idsOf(laterLinks), ['aud_4']);
        assert.deepEqual(await readChain(audit, { from: T0 + 7_000 }), []);
        assert.deepEqual(await readChain(audit, { to: T0 }), []);
        const links = await audit.links({ after: first.seq, limit: 3 });
        assert.deepEqual(idsOf(links), ['aud_2', 'aud_3', 'aud_4']);
        assert.ok(links.every(({ hash }) => hash !== null));
      }),
    );

    test(
      'can lose its oldest entries, and continues from its anchor',
      withStore(open, async (store, underTest) => {
        await addSealed(store, 1, 6);
        const oldChain = await readChain(store.audit);
        assert.equal(await store.audit.removeBefore({ before: T0 + 1_000, limit: 9 }), 0, 'none is that old');
        assert.equal(await store.audit.removeBefore({ before: T0 + 5_000, limit: 3 }), 3);
        assert.equal(await store.audit.removeBefore({ before: T0 + 5_000, limit: 3 }), 1);
        assert.equal(await store.audit.removeBefore({ before: T0 + 5_000, limit: 3 }), 0);
        const reopened = await underTest.reopen();
        const { audit, accounts } = reopened;
        assert.deepEqual(await audit.anchor(), { seq: oldChain[3]?.seq, hash: oldChain[3]?.hash });
        assert.deepEqual(await readChain(audit), oldChain.slice(4));
        const read = (accountId: string) => accounts.listAudit({ accountIds: [accountId], after: null, limit: 9 });
        assert.deepEqual([(await read('acc')).length, (await read('acc_3')).length, (await read('acc_6')).length], [2, 0, 1]);
        assert.equal(await audit.removeBefore({ before: T0 + 9_000, limit: 9 }), 2, 'all of it');
        await addSealed(reopened, 7, 7);
        const [seventh] = await readChain(audit);
        assert.equal(seventh?.hash, hashOf(oldChain[5]?.hash ?? '', sampleAudit(7, ['acc', 'acc', 'acc_7'], { at: T0 + 7_000 })));
      }),
    );

    test(
      'is pushed by one process at a time, from where the previous push ended',
      withStore(open, async (store, underTest) => {
        const { audit } = store;
        assert.equal(await audit.claimPush({ now: 1_000, until: 2_000 }), 0);
        assert.equal(await audit.claimPush({ now: 1_999, until: 3_000 }), null);
        await audit.movePush({ seq: 7, until: 2_500 });
        assert.equal(await audit.claimPush({ now: 2_499, until: 3_000 }), null);
        const reopened = await underTest.reopen();
        assert.equal(await reopened.audit.claimPush({ now: 2_500, until: 3_000 }), 7);
      }),
    );
  });
}
