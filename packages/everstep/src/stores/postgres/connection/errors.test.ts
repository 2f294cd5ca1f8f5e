/** Meaning of errors of the server and of the network. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { StoreRefusesWritesError, StoreUnavailableError } from '../../../ports/stores/store-unavailable.js';
import { isShardReplaced, sqlStateOf, storeErrorOf, violatedConstraintOf } from './errors.js';

const ofServer = (code: string) => Object.assign(new Error('said by the server'), { code, severity: 'ERROR' });
const ofSystem = (code: string) => Object.assign(new Error(`write ${code}`), { code, errno: -32, syscall: 'write' });

test('an error of the operating system is not an SQLSTATE even if it has five characters', () => {
  for (const code of ['EPIPE', 'E2BIG', 'EPERM', 'ECONNRESET']) assert.equal(sqlStateOf(ofSystem(code)), null);
  assert.equal(sqlStateOf(Object.assign(new Error('write EPIPE'), { code: 'EPIPE' })), null);
  for (const code of ['23505', 'XX001', '0A000', '57P01', 'HV00B']) assert.equal(sqlStateOf(ofServer(code)), code);
  assert.ok(storeErrorOf(ofSystem('EPIPE')) instanceof StoreUnavailableError);
});

test('a violation that one server of a cluster reports for another one is recognized by its message', () => {
  const violation = (code: string, more: object = {}) =>
    Object.assign(new Error('duplicate key value violates unique constraint "run_pkey_104849"'), { code, ...more });
  for (const code of ['23505', 'XX000']) assert.equal(violatedConstraintOf(violation(code)), 'run_pkey_104849');
  assert.equal(violatedConstraintOf(violation('23505', { constraint: 'run_pkey' })), 'run_pkey');
  for (const error of [violation('23503'), ofServer('XX000'), new Error('lost')]) assert.equal(violatedConstraintOf(error), null);
});

test('a statement that waited for a shard which was replaced can be repeated', () => {
  const error = Object.assign(new Error('could not find valid entry for shard 108776'), { code: 'XX000' });
  assert.ok(isShardReplaced(error));
  for (const other of [ofServer('XX000'), new Error(error.message)]) assert.ok(!isShardReplaced(other));
});

test('a server that cannot write reports the reason, and the transaction certainly had no effect', () => {
  const reasons = {
    '25006': 'the database is read-only',
    '53000': 'the server is out of resources',
    '53100': 'disk full',
    '53200': 'out of memory',
    '53400': 'the server is out of resources',
    '55P03': 'a lock was not available in time',
    '57014': 'a statement timed out or was canceled',
    '58000': 'I/O error',
    '58030': 'I/O error',
    '58P01': 'I/O error',
  };
  for (const [code, reason] of Object.entries(reasons)) {
    const error = storeErrorOf(ofServer(code));
    assert.ok(error instanceof StoreRefusesWritesError, code);
    assert.equal(error.reason, reason);
    assert.equal(error.message, `the store rejects writes: ${reason}`, 'without what the server said, which may name files');
  }
});

test('a server that ends connections or accepts none is unavailable', () => {
  for (const code of [
    '08006',
    '08007',
    '25P03',
    '25P04',
    '28P01',
    '3D000',
    '53300',
    '57P01',
    '57P02',
    '57P03',
    '57P04',
    '57P05',
  ]) {
    const error = storeErrorOf(ofServer(code));
    assert.ok(error instanceof StoreUnavailableError && !(error instanceof StoreRefusesWritesError), code);
  }
});

test('errors that do not go away by waiting are not refusals: damaged data, a faulty statement, a missing privilege', () => {
  for (const code of ['XX000', 'XX001', 'XX002', '22021', '23505', '42501', '42P01', '54000', '40001']) {
    const error = ofServer(code);
    assert.equal(storeErrorOf(error), error);
  }
});

test('a server whose certificate is invalid is unavailable until that is fixed', () => {
  const coded = (code: string) => Object.assign(new Error('tls'), { code });
  for (const code of [
    'CERT_HAS_EXPIRED',
    'ERR_TLS_CERT_ALTNAME_INVALID',
    'SELF_SIGNED_CERT_IN_CHAIN',
    'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  ])
    assert.ok(storeErrorOf(coded(code)) instanceof StoreUnavailableError, code);
  assert.ok(storeErrorOf(new Error('The server does not support SSL connections')) instanceof StoreUnavailableError);
});
