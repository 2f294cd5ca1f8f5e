import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type DigestedEntry, EMPTY_JOURNAL_DIGEST, extendJournalDigest } from './protocol.js';

const KNOWN = { one: 7728234763513170, three: 2931813162209699 };

const digestOf = (entries: readonly DigestedEntry[]): number => entries.reduce(extendJournalDigest, EMPTY_JOURNAL_DIGEST);

describe('the digest of a journal', () => {
  it('equals the value that earlier versions computed', () => {
    assert.equal(digestOf([{ stepId: 1, out: '{"a":1}' }]), KNOWN.one);
    assert.equal(digestOf([{ stepId: 1, out: '{"a":1}' }, { stepId: 2 }, { stepId: 3, out: '"\u00e4\u{1f600}"' }]), KNOWN.three);
  });

  it('is an integer that JSON represents exactly', () => {
    let digest = EMPTY_JOURNAL_DIGEST;
    for (let stepId = 1; stepId <= 1_000; stepId++) {
      digest = extendJournalDigest(digest, { stepId, out: JSON.stringify({ stepId }) });
      assert.ok(Number.isSafeInteger(digest) && digest >= 0);
      assert.equal(JSON.parse(JSON.stringify(digest)), digest);
    }
  });

  it('differs if any entry differs in its position or result', () => {
    const journals: readonly (readonly DigestedEntry[])[] = [
      [],
      [{ stepId: 1 }],
      [{ stepId: 1, out: '' }],
      [{ stepId: 1, out: '0' }],
      [{ stepId: 1, out: '1' }],
      [{ stepId: 2, out: '1' }],
      [{ stepId: 1, out: '\u0000' }],
      [{ stepId: 1, out: '"\\u0000"' }],
      [{ stepId: 1, out: '1' }, { stepId: 2 }],
      [{ stepId: 2 }, { stepId: 1, out: '1' }],
      [{ stepId: 1, out: '2' }, { stepId: 2 }],
      [{ stepId: 1 }, { stepId: 2, out: '1' }],
    ];
    assert.equal(new Set(journals.map(digestOf)).size, journals.length);
  });

  it('differs for results that differ in one digit', () => {
    const digests = new Set<number>();
    for (let n = 0; n < 200_000; n++) digests.add(extendJournalDigest(EMPTY_JOURNAL_DIGEST, { stepId: 1, out: String(n) }));
    assert.equal(digests.size, 200_000);
  });

  it('keeps differing after an early entry differed', () => {
    const later: readonly DigestedEntry[] = Array.from({ length: 200 }, (_, i) => ({ stepId: i + 2, out: '"same"' }));
    assert.notEqual(digestOf([{ stepId: 1, out: '"a"' }, ...later]), digestOf([{ stepId: 1, out: '"b"' }, ...later]));
  });
});
