/** Checks links between pages and file names in pages. */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { posix } from 'node:path';
import { test } from 'node:test';
import { ALL_PAGES, filesBelow, lineAt, type Page, pageOf, ROOT, read } from './pages.fixture.js';

/** Returns the anchors of a page, as GitHub derives them from its headings. */
function anchorsOf({ headings }: Page): ReadonlySet<string> {
  const anchors = new Set<string>();
  for (const heading of headings) {
    const text = heading.replace(/\[([^\]]*)\]\([^)]*\)/g, '$1');
    const slug = text
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\p{M}_ -]/gu, '')
      .replaceAll(' ', '-');
    let anchor = slug;
    for (let count = 1; anchors.has(anchor); count++) anchor = `${slug}-${count}`;
    anchors.add(anchor);
  }
  return anchors;
}

const PAGE_BY_PATH: ReadonlyMap<string, Page> = new Map(ALL_PAGES.map((path) => [path, pageOf(read(path))]));

/** Returns the broken links of a page. Links in code are ignored. */
function brokenLinks(path: string, { prose }: Page): readonly string[] {
  const text = prose.replace(/`[^`\n]*`/g, (code) => ' '.repeat(code.length));
  return [...text.matchAll(/\]\(([^)\s]+)\)/g)].flatMap(({ 1: link = '', index }) => {
    if (/^[a-z]+:/.test(link)) return [];
    const [file = '', anchor] = link.split('#');
    const target = file === '' ? path : posix.join(posix.dirname(path), file);
    const page = PAGE_BY_PATH.get(target);
    const leads = anchor === undefined ? existsSync(`${ROOT}/${target}`) : page !== undefined && anchorsOf(page).has(anchor);
    return leads ? [] : [`${path}:${lineAt(prose, index)}: ${link}`];
  });
}

test('every link to a file or heading has a target', () => {
  assert.deepEqual(
    [...PAGE_BY_PATH].flatMap(([path, page]) => brokenLinks(path, page)),
    [],
  );
});

test('a broken link is detected', () => {
  const page = pageOf('[a](docs/none.md) [b](docs/README.md) [c](README.md#no-heading) [d](README.md#configuration)\n`[e](x)`');
  assert.deepEqual(brokenLinks('README.md', page), ['README.md:1: docs/none.md', 'README.md:1: README.md#no-heading']);
});

test('anchors are derived from headings as on GitHub', () => {
  const page = pageOf('# A `code` & [a link](x.md), too\n\n```\n# no heading\n```\n## Übung_1\n## Übung_1\n### `dlq-full` (409)');
  assert.deepEqual([...anchorsOf(page)], ['a-code--a-link-too', 'übung_1', 'übung_1-1', 'dlq-full-409']);
});

const FILES = filesBelow('', /./).filter((path) => path !== 'package-lock.json');
/** Pages for contributors, in which every path is one of the repository. `<name>` means a new file. */
const FOR_DEVELOPERS = ALL_PAGES.filter((path) =>
  /^(ARCHITECTURE|CONTRIBUTING|docs\/(decisions|how-to)\/.*|bench\/README|packages\/dashboard\/README)\.md$/.test(path),
);
/** Build output and parts of the dashboard, which do not exist in a fresh clone. */
const MADE: readonly string[] = ['packages/everstep/static', 'site/dist', 'assets/'];

const SOURCE = /^[\w./*-]+\.tsx?$/;
/** Matches a path or file name. A leading slash marks a URL path, an at sign a package, and a dot a generated file. */
const PATH = /^(?![/@.*])[\w./*-]+(\/|\.(tsx?|mjs|js|css|md|html|yaml)|\/[\w*-]+)$/;

/** Returns whether the repository has the file or folder. Leading folders are optional, and a star matches any text. */
function exists(name: string): boolean {
  const pattern = name.replace(/\/$/, '').replace(/[.]/g, '\\.').replaceAll('*', '[^/]*');
  const found = new RegExp(`(^|/)${pattern}${name.endsWith('/') ? '/' : '(/|$)'}`);
  return FILES.some((path) => found.test(path));
}

/** Returns the first word of each line in a file tree. */
const namesInTrees = ({ blocks }: Page) =>
  blocks.flatMap(({ language, text, line }) =>
    language !== 'text'
      ? []
      : text.split('\n').map((content, at) => ({ code: content.trim().split(/,? /)[0] ?? '', line: line + at })),
  );

function missingFiles(path: string, page: Page): readonly string[] {
  const isOurs = FOR_DEVELOPERS.includes(path) ? PATH : SOURCE;
  return [...page.inline, ...namesInTrees(page)].flatMap(({ code, line }) =>
    isOurs.test(code) && !MADE.includes(code) && !exists(code) ? [`${path}:${line}: ${code}`] : [],
  );
}

test('every file and folder named in a page exists', () => {
  const pages = [...PAGE_BY_PATH];
  const named = pages.flatMap(([, { inline }]) => inline.filter(({ code }) => SOURCE.test(code)));
  assert.ok(named.length > 70, `${named.length} files`);
  assert.deepEqual(
    pages.flatMap(([path, page]) => missingFiles(path, page)),
    [],
  );
  const unnamed = MADE.filter((name) => !pages.some(([, { inline }]) => inline.some(({ code }) => code === name)));
  assert.deepEqual(unnamed, [], 'no page mentions these names');
});

test('a missing file is detected', () => {
  const page = pageOf(
    '`engine/runs/decide.ts`, `engine/no.ts`, `docs/README.md`, `/v2/runs`, `nowhere/`\n```text\n  no/  that\n  docs/  this\n```',
  );
  assert.deepEqual(missingFiles('ARCHITECTURE.md', page), [
    'ARCHITECTURE.md:1: engine/no.ts',
    'ARCHITECTURE.md:1: nowhere/',
    'ARCHITECTURE.md:3: no/',
  ]);
  assert.deepEqual(missingFiles('README.md', page), ['README.md:1: engine/no.ts']);
});
