import assert from 'node:assert/strict';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { CliHarness } from './testing/cli-harness.js';

const REGION = ['--region', 'eu-central-1'];
const FILMS = [
  { id: 'alien', content: { title: 'Alien', year: 1979 }, metadata: { seen: true } },
  { id: 'aliens', content: { title: 'Aliens', year: 1986 }, metadata: { seen: false } },
  { id: 'heat', content: { title: 'Heat', year: 1995 } },
];

describe('search commands', () => {
  let harness: CliHarness;
  let login: Readonly<Record<string, string>>;
  /** Environment of the document commands. */
  let found: Readonly<Record<string, string>> = {};
  before(async () => {
    harness = await CliHarness.open(() => (_request, response) => void response.end());
    const { EVERSTEP_MANAGEMENT_URL = '', EVERSTEP_ADMIN_EMAIL = '', EVERSTEP_ADMIN_API_KEY = '' } = harness.serverEnv;
    login = { EVERSTEP_MANAGEMENT_URL, EVERSTEP_ADMIN_EMAIL, EVERSTEP_ADMIN_API_KEY };
    const { endpoint, token } = await created('films');
    found = { EVERSTEP_SEARCH_URL: endpoint, EVERSTEP_SEARCH_TOKEN: token };
  });
  after(() => harness.close());

  const admin = (...args: readonly string[]) => harness.runIn(login, ['admin', 'search', ...args]);
  const search = (...args: readonly string[]) => harness.runIn(found, ['search', ...args]);
  async function outputOf(running: ReturnType<typeof admin>): Promise<string> {
    const { code, stdout, stderr } = await running;
    assert.deepEqual([code, stderr], [0, '']);
    return stdout;
  }
  const jsonOf = async (running: ReturnType<typeof admin>) => JSON.parse(await outputOf(running));
  const created = (name: string) => jsonOf(admin('create', name, ...REGION, '--json'));

  test('an index is created, listed, shown, renamed and deleted', async () => {
    const text = await outputOf(admin('create', 'books', ...REGION));
    const [, id = ''] =
      /^index +(idx_\S+)\nname +books\n[\s\S]*\ntype +free\n[\s\S]*\ntoken +srw_\S+\nread only +sro_\S+\n$/.exec(text) ?? [];
    assert.notEqual(id, '', text);
    assert.match(
      await outputOf(admin('list')),
      new RegExp(`^INDEX +NAME [\\s\\S]*${id} +books +eu-central-1 +usr_\\S+ +\\d{4}-`),
    );
    assert.equal(
      await outputOf(admin('get', id)),
      text.replace(/token +srw_\S+\nread only +sro_\S+\n$/, ''),
      'tokens are shown only once',
    );
    assert.equal(await outputOf(admin('rename', id, 'novels')), `${id} renamed to novels\n`);
    assert.equal((await jsonOf(admin('get', id, '--json'))).name, 'novels');
    assert.deepEqual(await jsonOf(admin('delete', id, '--json')), { deleted: 1 });
    const gone = await admin('get', id);
    assert.deepEqual([gone.code, gone.stdout], [3, '']);
    assert.match(gone.stderr, /there is no search index/);
  });

  test('an index gets new tokens and is transferred to a team', async () => {
    const { id, token, type } = await jsonOf(admin('create', 'letters', ...REGION, '--type', 'payg', '--json'));
    assert.equal(type, 'payg');
    const reset = await jsonOf(admin('reset-password', id, '--json'));
    assert.notEqual(reset.token, token);
    const refused = await search('info', '--url', reset.endpoint, '--token', token);
    assert.deepEqual([refused.code, refused.stdout], [1, '']);
    const { id: teamId } = await jsonOf(harness.runIn(login, ['admin', 'teams', 'create', 'Post', '--json']));
    assert.equal(await outputOf(admin('transfer', id, teamId)), `${id} now belongs to ${teamId}\n`);
    assert.equal((await jsonOf(admin('get', id, '--json'))).customer_id, teamId);
    assert.equal((await jsonOf(admin('create', 'more', ...REGION, '--team', teamId, '--json'))).customer_id, teamId);
    const personal = await admin('transfer', id, 'usr_1');
    assert.deepEqual([personal.code, personal.stdout], [1, '']);
    assert.match(personal.stderr, /personal account/);
  });

  test('documents are upserted from text, files and JSON lines, and fetched', async () => {
    assert.equal(await outputOf(search('upsert', JSON.stringify(FILMS[0]), '--namespace', 'f')), '1 upserted\n');
    const file = join(harness.directory.path, 'films.jsonl');
    await writeFile(file, FILMS.map((film) => JSON.stringify(film)).join('\n'));
    assert.deepEqual(await jsonOf(search('upsert', `@${file}`, '--namespace', 'f', '--json')), { upserted: 3 });
    assert.deepEqual(await jsonOf(search('fetch', 'heat', 'alien', '--namespace', 'f', '--json')), [FILMS[2], FILMS[0]]);
    assert.equal((await jsonOf(search('fetch', '--prefix', 'ali', '--namespace', 'f', '--json'))).length, 2);
    const shown = await outputOf(search('fetch', 'heat', '--namespace', 'f'));
    assert.match(shown, /^DOCUMENT +CONTENT +METADATA\nheat +\{"title":"Heat","year":1995\} +-\n$/);
    const missing = await search('fetch', 'heat', 'nothing', '--namespace', 'f');
    assert.deepEqual([missing.code, missing.stderr], [3, 'document not found: nothing\n']);
    assert.match(missing.stdout, /heat/);
    assert.equal((await search('fetch', 'heat')).code, 3, 'the unnamed namespace is separate');
  });

  test('documents are found by their words, listed and deleted', async () => {
    const within = ['--namespace', 'g'];
    await outputOf(search('upsert', JSON.stringify(FILMS), ...within));
    assert.match(await outputOf(search('query', 'alien', ...within)), /^SCORE +DOCUMENT +CONTENT +METADATA\n\d+\.\d{3} +alien/);
    const filtered = await jsonOf(
      search('query', 'the', 'alien', '--filter', '@metadata.seen = false', '--limit', '1', ...within, '--json'),
    );
    assert.deepEqual(
      filtered.map(({ id }: { readonly id: string }) => id),
      ['aliens'],
    );
    assert.equal(await outputOf(search('query', 'nowhere', ...within)), 'No matching documents.\n');
    const page = await outputOf(search('range', '--limit', '2', ...within));
    const [, cursor = ''] = /^DOCUMENT [\s\S]*\nalien [\s\S]*\naliens [\s\S]*\nNext page: --cursor (\S+)\n$/.exec(page) ?? [];
    const rest = await jsonOf(search('range', '--cursor', cursor, ...within, '--json'));
    assert.deepEqual(rest, { nextCursor: '', vectors: [FILMS[2]] });
    assert.equal(await outputOf(search('delete', 'alien', 'nothing', ...within)), '1 deleted\n');
    assert.deepEqual(await jsonOf(search('delete', '--filter', 'year > 1990', ...within, '--json')), { deleted: 1 });
    assert.equal(await outputOf(search('delete', '--prefix', 'a', ...within)), '1 deleted\n');
    assert.equal(await outputOf(search('range', ...within)), 'No documents.\n');
  });

  test('namespaces are listed, emptied and deleted, and the management API reports the same counts', async () => {
    const { id, endpoint, token } = await created('spaces');
    const here = ['--url', endpoint, '--token', token];
    for (const namespace of ['', 'a', 'b'])
      await outputOf(search('upsert', JSON.stringify(FILMS), '--namespace', namespace, ...here));
    assert.match(
      await outputOf(search('info', ...here)),
      /^NAMESPACE +DOCUMENTS\n\(no name\) +3\na +3\nb +3\n\n9 documents, \d+ bytes\n$/,
    );
    assert.equal((await jsonOf(search('info', '--json', ...here))).vectorCount, 9);
    assert.match(
      await outputOf(admin('stats', id)),
      new RegExp(`^INDEX +NAME +NAMESPACES +DOCUMENTS +BYTES\\n${id} +spaces +3 +9 +\\d+\\n$`),
    );
    assert.match(await outputOf(admin('stats')), /\nindexes: \d+, documents: \d+, bytes: \d+\n$/);
    assert.equal((await jsonOf(admin('stats', id, '--json'))).document_count, 9);
    assert.equal(await outputOf(search('reset', '--namespace', 'a', ...here)), 'all documents deleted\n');
    assert.equal((await jsonOf(search('info', '--json', ...here))).vectorCount, 6);
    assert.equal(await outputOf(search('delete-namespace', 'b', ...here)), '1 deleted\n');
    assert.equal((await search('delete-namespace', 'b', ...here)).code, 3);
    assert.deepEqual(await jsonOf(search('reset', '--all', '--json', ...here)), { reset: 1 });
    assert.equal((await jsonOf(search('info', '--json', ...here))).vectorCount, 0);
  });

  test('an index is selected by its id with a given or stored login', async () => {
    const { id } = await created('named');
    const inEnvironment = await harness.runIn(login, ['search', 'upsert', JSON.stringify(FILMS), '--index', id]);
    assert.deepEqual([inEnvironment.code, inEnvironment.stdout], [0, '3 upserted\n']);
    const kept = { EVERSTEP_DATA_DIR: join(harness.directory.path, '.everstep') };
    const info = await harness.runIn(kept, ['search', 'info', '--index', id, '--json']);
    assert.equal(JSON.parse(info.stdout).vectorCount, 3);
    const none = await harness.runIn(login, ['search', 'info', '--index', 'idx_none']);
    assert.deepEqual([none.code, none.stdout], [3, '']);
  });

  test('a user without write permission for an index is refused', async () => {
    const { id: teamId } = await jsonOf(harness.runIn(login, ['admin', 'teams', 'create', 'Money', '--json']));
    const member = ['admin', 'members', 'add', teamId, 'fin@example.com', '--role', 'finance', '--json'];
    const { invitation_secret } = await jsonOf(harness.runIn(login, member));
    const { api_key } = await jsonOf(harness.runIn(login, ['admin', 'invitations', 'accept', invitation_secret, '--json']));
    const { id } = await jsonOf(admin('create', 'shared', ...REGION, '--team', teamId, '--json'));
    const asFinance = ['--email', 'fin@example.com', '--api-key', api_key];
    assert.equal((await jsonOf(harness.runIn(login, ['search', 'info', '--index', id, '--json', ...asFinance]))).vectorCount, 0);
    const upsert = ['search', 'upsert', JSON.stringify(FILMS[0]), '--index', id, ...asFinance];
    const { code, stdout, stderr } = await harness.runIn(login, upsert);
    assert.deepEqual([code, stdout], [1, '']);
    assert.match(stderr, /role in this account can only read/);
    assert.equal((await admin('delete', id, ...asFinance)).code, 1);
  });

  const ADMIN_REFUSED: readonly (readonly [string, readonly string[], number, RegExp])[] = [
    ['a missing index', ['stats', 'idx_none'], 3, /there is no search index/],
    ['an index without a region', ['create', 'i'], 2, /--region/],
    ['an unknown type', ['create', 'i', ...REGION, '--type', 'gold'], 2, /free, payg, fixed/],
    ['an invalid name', ['create', ' ', ...REGION], 1, /body\.name/],
    ['a rename without a name', ['rename', 'idx_none'], 2, /name/],
  ];
  const REFUSED: readonly (readonly [string, readonly string[], number, RegExp])[] = [
    ['no documents', ['upsert', '[]'], 2, /is empty/],
    ['an invalid document', ['upsert', '{"id":"a"}'], 1, /must have the field "content"/],
    ['a missing file', ['upsert', '@nowhere.json'], 2, /cannot read the body/],
    ['fetch without a selection', ['fetch'], 2, /Give document ids/],
    ['ids and a prefix', ['fetch', 'a', '--prefix', 'a'], 2, /not both/],
    ['delete without a selection', ['delete'], 2, /Give document ids/],
    ['ids and a filter', ['delete', 'a', '--filter', 'a = 1'], 2, /only one of/],
    ['delete with an empty prefix', ['delete', '--prefix', ''], 2, /--prefix must not be empty.*use reset/],
    ['an invalid filter', ['query', 'a', '--filter', 'a ='], 1, /body\.filter/],
    ['an invalid limit', ['range', '--limit', 'all'], 2, /whole number/],
    ['a limit above the maximum', ['query', 'a', '--limit', '1001'], 1, /body\.topK/],
    ['an index and a URL', ['info', '--index', 'i', '--url', 'http://a/'], 2, /not both/],
    ['a namespace and all', ['reset', '--all', '--namespace', 'n'], 2, /not both/],
    ['an invalid URL', ['info', '--url', 'localhost'], 2, /--url must be/],
    ['an invalid token', ['info', '--token', 'x'], 1, /the search index does not exist, or the token/],
    ['an unreachable server', ['info', '--url', 'http://127.0.0.1:9'], 4, /no response from/],
  ];
  for (const [name, args, expected, words] of ADMIN_REFUSED) {
    test(`${name}: exit code ${expected}, and the reason on stderr`, async () => {
      const { code, stdout, stderr } = await admin(...args);
      assert.match(stderr, words);
      assert.deepEqual([code, stdout], [expected, '']);
    });
  }
  for (const [name, args, expected, words] of REFUSED) {
    test(`${name}: exit code ${expected}, and the reason on stderr`, async () => {
      const { code, stdout, stderr } = await search(...args);
      assert.match(stderr, words);
      assert.deepEqual([code, stdout], [expected, '']);
    });
  }

  test('docs/operations/running.md names every file in the data directory', async () => {
    await outputOf(search('upsert', JSON.stringify(FILMS)));
    const page = await readFile(new URL('../../../../docs/operations/running.md', import.meta.url), 'utf8');
    const [, section = ''] = page.split('## Data directory');
    const names = await readdir(join(harness.directory.path, '.everstep'), { recursive: true, withFileTypes: true });
    const unnamed = names
      .map((entry) =>
        entry.isDirectory() ? `${entry.name}/` : entry.name.replace(/^idx_[^.]+/, '<indexId>').replace(/^<.*-wal$/, '-wal'),
      )
      .filter((name) => !section.split('\n## ')[0]?.includes(`\`${name}\``));
    assert.ok(names.length >= 6, String(names.map(({ name }) => name)));
    assert.deepEqual(unnamed, []);
  });

  test('without an index, the exit code is 2 and the message says how to select one', async () => {
    const { code, stderr } = await harness.runIn({}, ['search', 'info']);
    assert.equal(code, 2);
    assert.match(stderr, /^No search index: set --url/);
  });
});
