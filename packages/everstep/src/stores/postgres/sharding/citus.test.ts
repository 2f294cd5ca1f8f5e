/** The store on a Citus cluster. */
import { after, describe } from 'node:test';
import type { Store } from '../../../ports/stores/store.js';
import { type OpenStore, storeConformance } from '../../conformance/index.js';
import { openPostgresStore } from '../index.js';
import { NO_CLUSTER } from '../testing/citus.js';
import { openTestSchemas } from '../testing/schemas.js';

const schemas = NO_CLUSTER || (await openTestSchemas());
const log = { debug() {}, info() {}, warn() {}, error() {} };

if (typeof schemas === 'string') {
  describe('the store on a Citus cluster', { skip: schemas }, () => {});
} else {
  const schema = await schemas.make();
  const { url } = schema;
  const open = () => openPostgresStore({ url, log });
  let opened: Store | null = null;
  after(async () => opened?.close());
  const underTest: OpenStore = async () => {
    opened ??= await open();
    return {
      store: opened,
      hasVersions: true,
      commitsByInstance: true,
      async reopen() {
        await opened?.close();
        opened = await open();
        return opened;
      },
      dispose: () => schema.clear(),
    };
  };
  storeConformance('Citus', underTest);
}
