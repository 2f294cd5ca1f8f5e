import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { openTestSchemas } from '../testing/schemas.js';
import { administer, createTables } from './administration.js';

const schemas = await openTestSchemas();
const skip = typeof schemas === 'string' && schemas;
const made = () => (typeof schemas === 'string' ? assert.fail(schemas) : schemas.make({ hasTables: false }));

describe('administration of a distributed store', { skip, timeout: 60_000 }, () => {
  test('commands accept a URL with several servers, and use the one that is the primary', async () => {
    const { url, name } = await made();
    const { host } = new URL(url);
    const urlOfTwo = url.replace(host, `127.0.0.1:1,${host}`);
    await createTables(urlOfTwo);
    const found = await administer(urlOfTwo, async (client) => (await client.query('SELECT current_schema() AS name')).rows);
    assert.deepEqual(found, [{ name }]);
  });
});
