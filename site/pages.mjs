/** The repository's Markdown files as pages of the site: their addresses, titles, links and order. */
import { readdirSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';

/** Files outside docs/ that are pages, and their addresses. */
const OTHER_PAGES = new Map([
  ['README.md', 'introduction'],
  ['packages/sdk/README.md', 'sdk'],
  ['bench/README.md', 'running-benchmarks'],
  ['ARCHITECTURE.md', 'architecture'],
  ['CONTRIBUTING.md', 'contributing'],
  ['CHANGELOG.md', 'changelog'],
  ['SECURITY.md', 'reporting-vulnerabilities'],
]);
/** The OpenAPI documents that the service serves, by the address of their reference. */
export const API_DOCUMENTS = [
  { name: 'runtime', label: 'Runtime API', path: '/openapi.json' },
  { name: 'management', label: 'Management API', path: '/openapi-management.json' },
  { name: 'upstash', label: 'Upstash API', path: '/openapi-upstash.json' },
];
const HOME = 'docs/README.md';
/** Pages for contributors, which docs/README.md need not list. */
const PROJECT_PAGES = new Set([
  'architecture',
  'contributing',
  'changelog',
  'reporting-vulnerabilities',
  'introduction',
  'benchmarks',
]);

/** Returns the address of a page without slashes at its ends: empty for the home page, null for a file that is not a page. */
export function addressOf(source) {
  const other = OTHER_PAGES.get(source);
  if (other !== undefined) return other;
  const match = /^docs\/(.*)\.md$/.exec(source);
  return match ? match[1].replace(/(^|\/)README$/, '') : null;
}

function markdownBelow(root, folder) {
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = `${folder}/${entry.name}`;
    if (entry.isDirectory()) return markdownBelow(root, path);
    return path.endsWith('.md') ? [path] : [];
  });
}

/**
 * Replaces links to pages by addresses of the site, and links to other files of the repository by addresses below /files/.
 *
 * @returns {{ text: string, files: string[] }} the files that have to be copied
 */
export function withSiteLinks(text, source) {
  const files = [];
  const target = (link) => {
    if (/^([a-z]+:|#|\/)/.test(link)) return link;
    const [path, anchor] = link.split('#');
    const file = posix.join(posix.dirname(source), path);
    const address = addressOf(file.endsWith('/') || !posix.basename(file).includes('.') ? posix.join(file, 'README.md') : file);
    if (address !== null && (file.endsWith('.md') || OTHER_PAGES.has(posix.join(file, 'README.md'))))
      return `/${address}${address ? '/' : ''}${anchor ? `#${anchor}` : ''}`;
    if (!/\.[a-z]+$/.test(file)) return null;
    files.push(file);
    return `/files/${file}`;
  };
  // The text of a link can contain code, so links are matched in the whole text and code blocks are skipped.
  const linked = text
    .split(/(^ *```[^\n]*\n[\s\S]*?^ *``` *$)/m)
    .map((part, index) =>
      index % 2 === 1
        ? part
        : part.replace(/(!?)\[((?:[^\]`]|`[^`]*`)*)\]\(([^)\s]+)\)/g, (_whole, image, label, link) => {
            const to = target(link);
            return to === null ? label : `${image}[${label}](${to})`;
          }),
    )
    .join('');
  return { text: linked, files };
}

/** Returns the title of a page: its first heading, without markup. */
function titleOf(text, source) {
  const heading = /^# (.+)$/m.exec(text);
  if (!heading) throw new Error(`${source} has no heading of the first level`);
  return heading[1].replaceAll('`', '').replace(/\[([^\]]*)\]\([^)]*\)/g, '$1');
}

/** Returns the first paragraph in one line, without markup. Search engines and llms.txt show it. */
function descriptionOf(body) {
  const paragraph = body
    .split(/\n{2,}/)
    .map((part) => part.trim())
    .find((part) => /^[\p{L}`*[]/u.test(part) && !part.startsWith('- '));
  if (!paragraph) return '';
  const plain = paragraph
    .replace(/\s+/g, ' ')
    .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replace(/[`*]/g, '');
  return plain.length <= 200 ? plain : `${plain.slice(0, plain.lastIndexOf(' ', 199))} …`;
}

/** @returns {{ source: string, address: string, title: string, description: string, body: string, files: string[] }[]} */
export function pagesOf(root) {
  const sources = [...markdownBelow(root, 'docs'), ...OTHER_PAGES.keys()];
  return sources.map((source) => {
    const markdown = readFileSync(join(root, source), 'utf8');
    const body = markdown.replace(/^# .+\n+/m, '');
    const { text, files } = withSiteLinks(body, source);
    return {
      source,
      address: addressOf(source),
      title: titleOf(markdown, source),
      description: descriptionOf(body),
      body: text,
      files,
    };
  });
}

/**
 * The navigation: the headings of docs/README.md with the pages that they link to, in their order. Pages about the project
 * and decisions come last. Throws if docs/README.md does not link to a page.
 *
 * @returns {{ label: string, items: string[] }[]} addresses
 */
export function navigationOf(root, pages) {
  const known = new Set(pages.map(({ address }) => address));
  const listed = new Set(['']);
  const groups = [];
  const markdown = readFileSync(join(root, HOME), 'utf8');
  for (const section of markdown.split(/^## /m).slice(1)) {
    const label = section.slice(0, section.indexOf('\n')).trim();
    const items = [];
    for (const [, link] of section.matchAll(/\]\(([^)\s#]+)[^)\s]*\)/g)) {
      const address = addressOf(posix.join('docs', link));
      if (address === null || listed.has(address) || !known.has(address)) continue;
      listed.add(address);
      items.push(address);
    }
    if (items.length > 0) groups.push({ label, items });
  }
  const left = [...known].filter((address) => !listed.has(address)).sort();
  const decisions = left.filter((address) => address.startsWith('decisions/'));
  const project = left.filter((address) => PROJECT_PAGES.has(address));
  const unlisted = left.filter((address) => !decisions.includes(address) && !project.includes(address));
  if (unlisted.length > 0) throw new Error(`${HOME} does not link to these pages: ${unlisted.join(', ')}`);
  return [...groups, { label: 'Project', items: project }, { label: 'Decisions', items: decisions, collapsed: true }];
}
