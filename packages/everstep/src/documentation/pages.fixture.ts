/** The documentation pages, and the parts of them that tests compare with the program. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Root of the repository. */
export const ROOT = fileURLToPath(new URL('../../../../', import.meta.url));

const SKIPPED_DIRECTORIES: ReadonlySet<string> = new Set(['node_modules', 'dist', 'static']);

/** Returns the paths, relative to the root and with slashes, of all files below a directory whose names match. */
export function filesBelow(directory: string, namePattern: RegExp): readonly string[] {
  return readdirSync(join(ROOT, directory), { withFileTypes: true }).flatMap((entry) => {
    const path = directory === '' ? entry.name : `${directory}/${entry.name}`;
    if (entry.isDirectory())
      return SKIPPED_DIRECTORIES.has(entry.name) || entry.name.startsWith('.') ? [] : filesBelow(path, namePattern);
    return namePattern.test(entry.name) ? [path] : [];
  });
}

/** Returns the content of a file of the repository. */
export const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

/** Paths of all Markdown pages except the changelog, which describes earlier states. */
export const ALL_PAGES: readonly string[] = filesBelow('', /\.md$/).filter((path) => path !== 'CHANGELOG.md');
/** Paths of the pages about the current state. A decision describes the state at the time of the decision. */
export const PAGES: readonly string[] = ALL_PAGES.filter((path) => !path.startsWith('docs/decisions/'));

/** A fenced block of a page. */
export interface Block {
  /** Language after the opening fence; empty if there is none. */
  readonly language: string;
  /** Content without the indentation of the fence. Each line ends with a newline. */
  readonly text: string;
  /** Line of the page on which the content starts. */
  readonly line: number;
}

/** A span of inline code, which may continue on the next line. */
export interface InlineCode {
  readonly code: string;
  readonly line: number;
}

export interface Page {
  readonly blocks: readonly Block[];
  readonly inline: readonly InlineCode[];
  readonly headings: readonly string[];
  /** The page with emptied blocks, so that line numbers stay the same. */
  readonly prose: string;
}

const FENCE = /^( *)```(\w*) *$/;
const INLINE_CODE = /(?<!`)(`+)(?!`)((?:[^\n]|\n(?!\s*\n))+?)(?<!`)\1(?!`)/g;

/** Returns the line number of a position in a text, from 1. */
export const lineAt = (text: string, position: number): number => text.slice(0, position).split('\n').length;

/** Returns the parts of a Markdown page. */
export function pageOf(markdown: string): Page {
  const blocks: Block[] = [];
  const prose: string[] = [];
  let openBlock: { language: string; indent: string; lines: string[]; line: number } | null = null;
  for (const [index, content] of markdown.split('\n').entries()) {
    const fence = FENCE.exec(content);
    prose.push(fence || openBlock ? '' : content);
    if (openBlock && fence) {
      blocks.push({
        language: openBlock.language,
        text: openBlock.lines.map((line) => `${line}\n`).join(''),
        line: openBlock.line,
      });
      openBlock = null;
    } else if (openBlock)
      openBlock.lines.push(content.startsWith(openBlock.indent) ? content.slice(openBlock.indent.length) : content.trimStart());
    else if (fence) openBlock = { language: fence[2] ?? '', indent: fence[1] ?? '', lines: [], line: index + 2 };
  }
  const text = prose.join('\n');
  const inline = [...text.matchAll(INLINE_CODE)].map(({ 2: code = '', index }) => ({
    code: code.replace(/\s*\n\s*/g, ' ').trim(),
    line: lineAt(text, index),
  }));
  const headings = [...text.matchAll(/^#+ +(.*?) *#*$/gm)].map(([, heading = '']) => heading);
  return { blocks, inline, headings, prose: text };
}

/** Languages of shell blocks. A block without a language is a shell block. */
export const SHELLS: readonly string[] = ['', 'sh', 'bash', 'shell', 'console'];

/** A line of a page or source, with its number. */
export interface NumberedLine {
  readonly text: string;
  readonly line: number;
}

/** Returns the command lines of shell blocks, without comments and empty lines. A line that ends with a backslash continues. */
export function shellLinesOf({ blocks }: Page): readonly NumberedLine[] {
  return blocks.flatMap((block) => {
    if (!SHELLS.includes(block.language)) return [];
    const lines = block.text.split('\n');
    const commandLines: NumberedLine[] = [];
    for (let index = 0; index < lines.length; index++) {
      const line = block.line + index;
      let text = lines[index] ?? '';
      while (text.endsWith('\\')) text = `${text.slice(0, -1).trimEnd()} ${(lines[++index] ?? '').trimStart()}`;
      if (text.trim() !== '' && !text.startsWith('#')) commandLines.push({ text: text.trim(), line });
    }
    return commandLines;
  });
}

/** Returns the lines of a source that may contain user-facing text: all except comments. */
export function sourceLines(text: string): readonly NumberedLine[] {
  const lines = text.split('\n').map((content, index) => ({ text: content, line: index + 1 }));
  return lines.filter((line) => !/^\s*(\/\*|\*|\/\/)/.test(line.text));
}

const SOURCE_FILE = /(?<!\.(test|fixture|bench))\.(tsx?|m?js)$/;
/** Paths of the sources with user-facing text: packages, scripts, examples and the benchmark, without tests. */
export const SOURCES: readonly string[] = [
  ...['packages/dashboard/src', 'packages/everstep/bin', 'packages/everstep/src', 'packages/sdk/src'],
  ...['scripts', 'examples', 'bench/src'],
]
  .flatMap((directory) => filesBelow(directory, SOURCE_FILE))
  .filter((path) => !/^packages\/everstep\/.*\/testing\//.test(path));
