/** Links of the built site: every internal link and anchor has to exist. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

function pagesBelow(directory) {
  return readdirSync(directory, { withFileTypes: true }).flatMap((entry) => {
    const path = join(directory, entry.name);
    if (entry.isDirectory()) return pagesBelow(path);
    return entry.name.endsWith('.html') ? [path] : [];
  });
}

/** @returns {string[]} broken links, each with its page */
export function brokenLinks(directory) {
  const pages = new Map(pagesBelow(directory).map((path) => [path, readFileSync(path, 'utf8')]));
  const anchors = new Map();
  const hasAnchor = (path, anchor) => {
    if (!anchors.has(path)) anchors.set(path, new Set([...pages.get(path).matchAll(/ id="([^"]+)"/g)].map(([, id]) => id)));
    return anchors.get(path).has(anchor);
  };
  const broken = [];
  for (const [page, html] of pages) {
    for (const [, href] of html.matchAll(/<a [^>]*href="([^"]+)"/g)) {
      if (/^[a-z]+:/.test(href)) continue;
      const [path, anchor] = href.replaceAll('&amp;', '&').split('#');
      const file = path === '' ? page : join(directory, decodeURI(path).replace(/\/$/, '/index.html'));
      const target = existsSync(join(file, 'index.html')) ? join(file, 'index.html') : file;
      const leads = anchor ? pages.has(target) && hasAnchor(target, decodeURIComponent(anchor)) : existsSync(target);
      if (!leads) broken.push(`${page.slice(directory.length)}: ${href}`);
    }
  }
  return broken;
}
