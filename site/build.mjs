/**
 * Builds the documentation site from the Markdown files of the repository into site/dist. Called by `npm run docs`, which
 * installs what this folder needs and builds the service, whose OpenAPI documents become the API reference.
 */
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { build } from 'astro';
import { brokenLinks } from './check-links.mjs';
import { API_DOCUMENTS, navigationOf, pagesOf } from './pages.mjs';
import { servedDocuments } from './served-documents.mjs';

const SITE = import.meta.dirname;
const ROOT = dirname(SITE);
const MADE = join(SITE, '.made');

function write(path, text) {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}

const frontmatter = (fields) =>
  `---\n${Object.entries(fields)
    .map(([name, value]) => `${name}: ${JSON.stringify(value)}\n`)
    .join('')}---\n\n`;

const pages = pagesOf(ROOT);
rmSync(MADE, { recursive: true, force: true });
for (const { address, title, description, body } of pages)
  write(join(MADE, 'pages', `${address || 'index'}.md`), `${frontmatter({ title, description })}${body}`);
// Files that pages link to, and each page as Markdown next to its HTML.
for (const file of new Set(pages.flatMap(({ files }) => files))) {
  const to = join(MADE, 'public', 'files', file);
  mkdirSync(dirname(to), { recursive: true });
  cpSync(join(ROOT, file), to);
}
for (const { address, title, body } of pages) write(join(MADE, 'public', `${address || 'index'}.md`), `# ${title}\n\n${body}`);
const documents = await servedDocuments(
  ROOT,
  API_DOCUMENTS.map(({ path }) => path),
);
for (const [index, { name }] of API_DOCUMENTS.entries()) write(join(MADE, 'api', `${name}.json`), documents[index]);
const version = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')).version;
write(join(MADE, 'navigation.json'), JSON.stringify({ version, groups: navigationOf(ROOT, pages) }, null, 2));
process.chdir(SITE);
await build({ root: SITE });
const broken = brokenLinks(join(SITE, 'dist'));
if (broken.length > 0) throw new Error(`the site has ${broken.length} broken links:\n${broken.join('\n')}`);
process.stdout.write(`${pages.length} pages and the API reference are in site/dist\n`);
