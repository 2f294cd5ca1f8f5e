import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { placeOfUrl } from './errors.js';
import { type Look, Primary, primaryUrl, serverUrls } from './primary.js';

const log = { debug() {}, info() {}, warn() {}, error() {} };
const URL_OF_TWO = 'postgres://u:p@one:1,two:2/db?sslmode=require&target_session_attrs=read-write';
const [ONE, TWO] = ['postgres://u:p@one:1/db?sslmode=require', 'postgres://u:p@two:2/db?sslmode=require'];

/** Servers by their URLs: their timelines, null for those that take no writes or do not answer. */
function servers(standing: Record<string, number | null>): { readonly look: Look; readonly looks: string[] } {
  const looks: string[] = [];
  return {
    looks,
    look: async (url) => {
      looks.push(url);
      return standing[url] ?? null;
    },
  };
}
const primaryOf = (look: Look) => new Primary({ url: URL_OF_TWO, log, look, lookEveryMs: 3_600_000 });

describe('the servers that a URL names', () => {
  test('are each given a URL with all of the rest, without the word for which of them is wanted', () => {
    assert.deepEqual(serverUrls(URL_OF_TWO), [ONE, TWO]);
    assert.deepEqual(serverUrls('postgresql://u:a%2Cb@[::1]:5432,h/db'), [
      'postgresql://u:a%2Cb@[::1]:5432/db',
      'postgresql://u:a%2Cb@h/db',
    ]);
    assert.deepEqual(serverUrls('postgres://a,b/db?target_session_attrs=any'), ['postgres://a/db', 'postgres://b/db']);
  });

  test('are one when it names one, which is used as it is', () => {
    const url = 'postgres://u:p,q@host/db?target_session_attrs=any';
    assert.deepEqual(serverUrls(url), [url]);
  });

  test('are shown without user and password', () => {
    assert.equal(placeOfUrl(URL_OF_TWO), 'postgres://one:1,two:2/db');
    assert.equal(placeOfUrl('postgres://u:p@h/db?password=secret'), 'postgres://h/db');
    assert.equal(placeOfUrl('nothing of the kind'), 'the given database URL');
  });
});

describe('the primary', () => {
  test('is not looked for when there is one server', async () => {
    const { look, looks } = servers({});
    const primary = new Primary({ url: ONE, log, look });
    await primary.ready();
    await primary.find();
    assert.deepEqual([primary.url, primary.isKnown, looks], [ONE, true, []]);
  });

  test('is the one that takes writes', async () => {
    const { look } = servers({ [ONE]: null, [TWO]: 3 });
    const primary = primaryOf(look);
    assert.equal(primary.isKnown, false);
    await primary.ready();
    assert.deepEqual([primary.url, primary.isKnown], [TWO, true]);
    primary.close();
    assert.equal(await primaryUrl(URL_OF_TWO, look), TWO);
  });

  test('is unknown while none takes writes, and is found when one does', async () => {
    const standing: Record<string, number | null> = {};
    const primary = primaryOf(servers(standing).look);
    await primary.ready();
    assert.equal(primary.isKnown, false);
    standing[TWO] = 1;
    await primary.ready();
    assert.deepEqual([primary.url, primary.isKnown], [TWO, true]);
    primary.close();
  });

  test('is the promoted server while the one that it followed still takes writes, and those that listen are told', async () => {
    const standing: Record<string, number | null> = { [ONE]: 1, [TWO]: null };
    const primary = primaryOf(servers(standing).look);
    const moves: string[] = [];
    primary.onMoved(() => moves.push(primary.url));
    await primary.ready();
    assert.deepEqual([primary.url, moves], [ONE, []]);
    standing[TWO] = 2;
    await primary.find();
    assert.deepEqual([primary.url, moves], [TWO, [TWO]]);
    primary.close();
  });

  test('is never an older one, even when no other answers, and stays who it was while none does', async () => {
    const standing: Record<string, number | null> = { [ONE]: 1, [TWO]: 2 };
    const primary = primaryOf(servers(standing).look);
    await primary.ready();
    standing[TWO] = null;
    await primary.find();
    assert.equal(primary.url, TWO);
    // It follows the other one now, which was promoted in its turn.
    standing[ONE] = 3;
    await primary.find();
    assert.equal(primary.url, ONE);
    primary.close();
  });

  test('is looked for once at a time, however many ask', async () => {
    const { look, looks } = servers({ [ONE]: 1 });
    const primary = primaryOf(look);
    await Promise.all([primary.find(), primary.find(), primary.find()]);
    assert.deepEqual(looks, [ONE, TWO]);
    primary.close();
    await primary.find();
    assert.equal(looks.length, 2);
  });
});
