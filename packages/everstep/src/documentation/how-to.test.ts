/** The file lists of the guides for changes are complete, and their examples work. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Command } from 'commander';
import { filtersOf, withFilters } from '../cli/commands/filter-options.js';
import { bodyFilters } from '../contract/filters/body-filters.js';
import { DEAD_LETTER_FILTERS } from '../contract/filters/dead-letter-filters.js';
import type { FilterTable } from '../contract/filters/filter.js';
import { queryFilters, storeFilterOf } from '../http-api/parameters/filters.js';
import { read } from './pages.fixture.js';

const PACKAGES = fileURLToPath(new URL('../../..', import.meta.url));
const sources = ['everstep/src', 'sdk/src', 'dashboard/src'].flatMap((root) =>
  readdirSync(`${PACKAGES}/${root}`, { recursive: true, encoding: 'utf8' })
    .filter(
      (name) => /\.tsx?$/.test(name) && !/\.(test|fixture|bench)\.|(^|\/)(conformance|testing|upstash|generated)\//.test(name),
    )
    .map((name) => ({ path: `${root}/${name}`, text: readFileSync(`${PACKAGES}/${root}/${name}`, 'utf8') })),
);
const naming = (pattern: RegExp): readonly string[] => sources.filter(({ text }) => pattern.test(text)).map(({ path }) => path);

/** Returns the files in the first column of the first table of the page. */
const listed = (page: string): readonly string[] => [...read(page).matchAll(/^\| `([^`]+)` \|/gm)].map(([, path = '']) => path);

test('the guide to filters lists the files that name a filter of dead letters', () => {
  // The filter by caller address also applies to runs, so its declaration is in the table of runs.
  const store = naming(/\bcallerIps\b/).map((path) => path.replace('contract/filters/run-', 'contract/filters/dead-letter-'));
  const facets = naming(/\bdeadLetterCallerIp\b/);
  const client = naming(/readonly callerIp\?:/).filter((path) => path.startsWith('sdk/') && !path.includes('/generated/'));
  const ofDeadLetters = [...new Set([...store, ...facets, ...client])].filter((path) => !/\/runs?[/-]|run-facets/.test(path));
  assert.deepEqual([...listed('docs/how-to/add-a-filter.md')].sort(), ofDeadLetters.sort());
});

test('the guide to run settings lists the files that name a setting with a header', () => {
  const table = naming(/'Redact-Fields': \{$/m);
  const engine = naming(/redact: 'kept'/);
  const invoked = naming(/redact: parent\.settings\.redact/);
  const client = naming(/set\('Redact-Fields'/);
  assert.deepEqual([...listed('docs/how-to/add-a-run-setting.md')].sort(), [...table, ...engine, ...invoked, ...client].sort());
});

test('the example of the guide to filters works in queries, bodies, the store filter and the command line', () => {
  const ERROR = {
    kind: 'texts',
    maxLength: 'maxNoteLength',
    comma: 'may-be-inside',
    field: 'errors',
    description: 'Error text',
    label: 'Error text',
    option: { flag: '--error <text>', help: 'with this error' },
  } as const;
  const page = read('docs/how-to/add-a-filter.md');
  for (const [name, value] of Object.entries(ERROR))
    if (typeof value === 'string') assert.ok(page.includes(`${name}: '${value}',`), name);
  const table = { ...DEAD_LETTER_FILTERS, error: ERROR } as const satisfies FilterTable;
  const items = { type: 'string', minLength: 1, maxLength: 1_000 };
  const schemaIn = ({ error }: { readonly error: object }): object => JSON.parse(JSON.stringify(error));
  assert.partialDeepStrictEqual(schemaIn(queryFilters(table)), { type: 'array', items, 'x-comma': 'may-be-inside' });
  assert.partialDeepStrictEqual(schemaIn(bodyFilters(table)), { type: 'array', items, minItems: 1, maxItems: 100 });
  assert.deepEqual(storeFilterOf(table, { error: ['out of stock'] }), { errors: ['out of stock'] });
  const command = withFilters(new Command('list'), table, 'dead letters');
  command.parse(['--error', 'a', '--error', 'b', '--from', '1'], { from: 'user' });
  assert.deepEqual(filtersOf(table, command), { fromDate: 1, error: ['a', 'b'] });
  assert.match(command.helpInformation(), /--error <text>\s+dead letters with this error; may be\s+repeated/);
});
