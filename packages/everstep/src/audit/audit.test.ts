import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { AuditNote } from '../engine/writes.js';
import type { Clock } from '../ports/clock.js';
import type { Message, MessageOutcome } from '../ports/message-sender.js';
import { sampleAudit } from '../stores/conformance/accounts/account-samples.js';
import { T0 } from '../stores/conformance/samples.js';
import { openSqliteStore } from '../stores/sqlite/index.js';
import { AuditPush } from './audit-push.js';
import { AuditRecords } from './audit-records.js';
import { AuditUpkeep } from './audit-upkeep.js';
import { AuditedRequest, addRequestEntry, runAudited, withRequestDetails } from './audited-request.js';
import { GENESIS, hashOf } from './chain.js';
import { verifyLinks } from './verification.js';

const log = { debug() {}, info() {}, warn() {}, error() {} };
const entry = sampleAudit(1, ['acc']);
const request = { operation: 'cancelRun', credential: 'token t', userAgent: '', instanceId: 'qi', outcome: 'done' } as const;

/** A clock that the test advances. Due timers fire immediately. */
class StillClock implements Clock {
  time = T0;
  timers: { readonly at: number; readonly fire: () => void }[] = [];
  now = (): number => this.time;
  setTimer(at: number, fire: () => void): () => void {
    const timer = { at, fire };
    this.timers.push(timer);
    return () => {
      this.timers = this.timers.filter((pending) => pending !== timer);
    };
  }
  endOfTurn(fire: () => void): void {
    setImmediate(fire);
  }
  pass(ms: number): void {
    this.time += ms;
    const due = this.timers.filter(({ at }) => at <= this.time);
    this.timers = this.timers.filter(({ at }) => at > this.time);
    for (const { fire } of due) fire();
  }
}

describe('the entry of a request', () => {
  const unit = { guards: [], writes: [{ kind: 'delete-queue', instanceId: 'qi', name: 'q' }] } as const;
  const confirmation = { guards: [], writes: [] };
  const audited = (isWrittenWithChange = true) => new AuditedRequest({ entry, request, isWrittenWithChange });
  const kinds = ({ unit: { writes } }: ReturnType<typeof addRequestEntry>) => writes.map(({ kind }) => kind);

  test('is in the first unit that writes something, and in no other', async () => {
    const of = audited();
    await runAudited(of, async () => {
      assert.deepEqual(kinds(addRequestEntry(confirmation)), []);
      await Promise.resolve();
      const first = addRequestEntry(unit);
      assert.deepEqual([kinds(first), kinds(addRequestEntry(unit))], [['delete-queue', 'add-audit'], ['delete-queue']]);
      first.settle(true);
    });
    assert.equal(of.close(), null);
    assert.deepEqual(kinds(addRequestEntry(unit)), ['delete-queue'], 'outside of a request');
  });

  test('is in the next unit after a refused one, and remains if there is no unit', () => {
    const of = audited();
    runAudited(of, () => {
      addRequestEntry(unit).settle(false);
      assert.deepEqual(kinds(addRequestEntry(unit)), ['delete-queue', 'add-audit']);
    });
    const bulk = audited(false);
    runAudited(bulk, () => assert.deepEqual(kinds(addRequestEntry(unit)), ['delete-queue']));
    assert.equal(bulk.close(), entry);
    runAudited(bulk, () => assert.deepEqual(kinds(addRequestEntry(unit)), ['delete-queue'], 'after the response'));
  });

  test('is the entry that a part of the server makes itself, marked with the request', () => {
    const of = audited();
    const own = runAudited(of, () => withRequestDetails({ ...entry, action: 'own' }));
    assert.deepEqual([own.action, own.request], ['own', request]);
    assert.equal(of.close(), null);
    assert.equal(withRequestDetails(entry), entry);
  });
});

describe('refused requests', () => {
  test('cause one entry a minute for each caller, operation and code, in limited number', async () => {
    const [clock, written]: [StillClock, AuditNote[]] = [new StillClock(), []];
    const accounts = {
      addAudit: async (added: AuditNote) => void written.push(added),
      findInstance: async () => null,
    };
    const random = { bytes: (count: number) => new Uint8Array(count), number: () => 0.5 };
    const records = new AuditRecords({ accounts, now: clock.now, clock, random, log });
    const anonymous = { operation: 'createSession', code: 'bad-credential', actor: 'anonymous', credential: 'none' };
    const of = (network: string) => ({ ...anonymous, instanceId: null, userId: null, network });
    for (let n = 0; n < 1_000; n++) records.countRefusal(of('192.0.2.1'));
    for (let n = 0; n < 1_000; n++) records.countRefusal(of(`198.51.100.${n}`));
    clock.pass(59_999);
    assert.equal(written.length, 0);
    clock.pass(1);
    await records.writeRefused();
    assert.equal(written.length, 21);
    assert.deepEqual(
      [written[0]?.address, written[0]?.details, written[0]?.request?.outcome],
      ['192.0.2.1', { code: 'bad-credential', count: 1_000 }, 'refused'],
    );
    const counted = written.reduce((sum, { details }) => sum + Number(details.count), 0);
    assert.deepEqual([counted, written.at(-1)?.address], [2_000, 'various']);
  });
});

describe('verification of the chain', () => {
  const entries = [1, 2, 3, 4].map((n) => sampleAudit(n, ['acc']));
  let hash = GENESIS;
  const links = entries.map((entry, index) => {
    hash = hashOf(hash, entry);
    return { seq: index + 1, hash, entry };
  });
  const kindsOf = (changed: Parameters<typeof verifyLinks>[1]) =>
    verifyLinks(GENESIS, changed).faults.map(({ seq, kind }) => `${seq} ${kind}`);

  test('finds exactly the entries that were changed, removed, inserted or exchanged', () => {
    assert.deepEqual(verifyLinks(GENESIS, links), { faults: [], hash });
    const at = (seq: number, part: object) => links.map((link) => (link.seq === seq ? { ...link, ...part } : link));
    assert.deepEqual(kindsOf(at(2, { entry: { ...entries[1], actor: 'nobody' } })), ['2 changed']);
    assert.deepEqual(kindsOf(at(2, { entry: { ...entries[1], request } })), ['2 changed']);
    assert.deepEqual(kindsOf(at(3, { entry: null })), ['3 removed']);
    assert.deepEqual(kindsOf(at(3, { hash: null })), ['3 inserted', '4 changed']);
    assert.deepEqual(kindsOf(links.filter(({ seq }) => seq !== 2)), ['3 changed'], 'missing together with its hash');
    const inserted = { seq: 2.5, hash: null, entry: sampleAudit(9, []) };
    assert.deepEqual(kindsOf([...links.slice(0, 2), inserted, ...links.slice(2)]), ['2.5 inserted']);
  });
});

describe('audit log upkeep', () => {
  async function harness(respond: (sent: readonly Message[]) => MessageOutcome) {
    const store = await openSqliteStore({ file: ':memory:' });
    const clock = new StillClock();
    const sent: Message[] = [];
    const sender = {
      async send(message: Message) {
        sent.push(message);
        return respond(sent);
      },
    };
    const common = { audit: store.audit, now: clock.now, clock, log };
    const push = new AuditPush({ ...common, sender, url: 'https://siem.test/in' });
    const upkeep = new AuditUpkeep({ ...common, push, retentionMs: 1_000, isShared: false });
    return { store, clock, sent, upkeep };
  }
  const answered = (status: number): MessageOutcome => ({ kind: 'response', status, headers: {}, body: new Uint8Array() });
  const idsIn = ({ body }: Message) =>
    Buffer.from(body ?? [])
      .toString()
      .split('\n')
      .flatMap((line) => (line === '' ? [] : [JSON.parse(line).id]));

  test('leaves no timer when stopped during its first work', async () => {
    const { clock, upkeep } = await harness(() => answered(204));
    upkeep.start();
    await upkeep.stop();
    assert.deepEqual(clock.timers, []);
  });

  test('pushes new entries in order, again after a failure, and not twice', async () => {
    const { store, clock, sent, upkeep } = await harness((all) => answered(all.length === 1 ? 503 : 204));
    for (const n of [1, 2]) await store.accounts.addAudit(sampleAudit(n, [], { at: T0 }));
    upkeep.start();
    await upkeep.waitForWork();
    assert.deepEqual(sent.map(idsIn), [['aud_1', 'aud_2']]);
    assert.deepEqual([sent[0]?.signed, sent[0]?.instanceId], [{ kind: 'audit-log', isOwn: false }, '']);
    clock.pass(5_000);
    await upkeep.waitForWork();
    assert.deepEqual(sent.map(idsIn).slice(1), [['aud_1', 'aud_2']]);
    await store.accounts.addAudit(sampleAudit(3, [], { at: clock.time }));
    clock.pass(5_000);
    await upkeep.waitForWork();
    assert.deepEqual(sent.map(idsIn).slice(2), [['aud_3']]);
    await upkeep.stop();
    await store.close();
  });

  test('removes entries older than the retention at the start and every hour', async () => {
    const { store, clock, upkeep } = await harness(() => answered(204));
    const left = async () =>
      (await store.accounts.listAudit({ accountIds: null, after: null, limit: 9 })).map(({ auditId }) => auditId);
    await store.accounts.addAudit(sampleAudit(1, [], { at: T0 - 1_001 }));
    await store.accounts.addAudit(sampleAudit(2, [], { at: T0 }));
    upkeep.start();
    await new Promise((resolve) => setImmediate(resolve));
    clock.pass(20);
    await upkeep.waitForWork();
    assert.deepEqual(await left(), ['aud_2']);
    clock.pass(3_600_000);
    await new Promise((resolve) => setImmediate(resolve));
    clock.pass(20);
    await upkeep.waitForWork();
    assert.deepEqual(await left(), []);
    await upkeep.stop();
    await store.close();
  });
});
