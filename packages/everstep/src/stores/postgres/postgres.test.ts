import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import type { Store } from '../../ports/stores/store.js';
import { type OpenStore, storeConformance } from '../conformance/index.js';
import { sharedRepairConformance } from '../conformance/repairs.js';
import { openPostgresStore } from './index.js';
import { MIGRATIONS } from './migrations/index.js';
import { EXCEPTIONS } from './sharding/exceptions.js';
import { unroutedTables } from './sharding/statement-rules.js';
import { recordStatements } from './testing/recorded-statements.js';
import { openTestSchemas } from './testing/schemas.js';

const schemas = await openTestSchemas();
const log = { debug() {}, info() {}, warn() {}, error() {} };

if (typeof schemas === 'string') {
  describe('PostgreSQL as a store', { skip: schemas }, () => {});
} else {
  // All tests share one schema, which is emptied after each: creating the tables again would take longer than most tests. They also
  // share one store, because a store does not rely on what it remembers from earlier calls.
  const schema = await schemas.make();
  const { url } = schema;
  const sent = recordStatements();
  let opened: Store | null = null;
  after(async () => opened?.close());
  const underTest: OpenStore = async () => {
    opened ??= await openPostgresStore({ url, log });
    return {
      store: opened,
      hasVersions: true,
      async reopen() {
        await opened?.close();
        opened = await openPostgresStore({ url, log });
        return opened;
      },
      dispose: () => schema.clear(),
    };
  };
  describe('used by one process', () => storeConformance('PostgreSQL', underTest));
  describe('used by several processes', () => sharedRepairConformance(underTest));
  test('every statement on a distributed table names its instance, except those in the list of exceptions', () => {
    const isOfSchema = (text: string) => MIGRATIONS.includes(text) || /^(?:ANALYZE|SET) /.test(text) || text.includes('DO $$');
    const unrouted = [...sent].filter((text) => !isOfSchema(text) && unroutedTables(text).length > 0);
    const unexplained = unrouted.filter((text) => !EXCEPTIONS.some(([part]) => text.includes(part)));
    assert.deepEqual(unexplained, []);
  });
}
