/** Code snippets in the documentation compile against the packages, and JSON snippets can be parsed. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { ALL_PAGES, type Block, pageOf, ROOT, read, SHELLS } from './pages.fixture.js';

interface Snippet extends Block {
  readonly path: string;
}

interface SnippetContext {
  /** Declarations of names that the snippet uses without declaring them. */
  readonly declares: string;
  /** Whether the snippet is part of a function. */
  readonly isPart?: true;
}

/** A step that logs. */
const LOGGING: SnippetContext = {
  declares: `import { type WorkflowContext } from '@everstep/sdk'; declare const context: WorkflowContext<unknown>;
    declare const logger: { child(fields: object): { info(text: string): void } };`,
  isPart: true,
};

/** Snippets that use names of the reader's app, by page and first line. */
const CONTEXTS: Readonly<Record<string, SnippetContext>> = {
  "docs/guides/search.md: import { Search } from '@upstash/search';": {
    declares: 'declare const endpoint: string, token: string;',
  },
  "docs/guides/tracing.md: await context.run('charge', async () => {": LOGGING,
  "packages/sdk/README.md: await context.run('charge', async () => {": LOGGING,
  "packages/sdk/README.md: import { createServer } from 'node:http';": {
    declares: `declare function reserve(id: string): { available: boolean };
      declare function chargeCard(id: string, cents: number): { chargeId: string };
      declare function notifyWarehouse(id: string): void;
      declare function sendReceipt(id: string, charge: { chargeId: string }): string;`,
  },
  "packages/sdk/README.md: const approval = await context.waitForEvent<{ by: string }>('approval', `order/${id}/approved`, { timeout: '2d' });":
    {
      declares: `import { type WorkflowContext, NonRetryableError } from '@everstep/sdk';
      declare const context: WorkflowContext<unknown>; declare const id: string; declare const url: string; declare const recording: string;`,
      isPart: true,
    },
  "packages/sdk/README.md: import { payloadEncryption } from '@everstep/sdk/encryption';": {
    declares: `import { Client, type WorkflowContext, serve } from '@everstep/sdk';
      interface Order { id: string; cents: number }
      declare function workflow(context: WorkflowContext<Order>): Promise<void>;`,
  },
  'packages/sdk/README.md: serve<Order>(workflow, {': {
    declares: `import { type WorkflowContext, serve } from '@everstep/sdk';
      interface Order { id: string; cents: number }
      declare function workflow(context: WorkflowContext<Order>): Promise<void>;
      declare function releaseStock(id: string, reason: string): Promise<void>;`,
  },
  "docs/guides/moving-from-upstash.md: import { Client, Receiver } from '@upstash/qstash';": {
    declares: `import type { WorkflowContext } from '@upstash/workflow'; import { serve } from '@upstash/workflow/hono';
      declare function welcome(context: WorkflowContext<{ email: string }>): Promise<void>;
      declare const baseUrl: string, token: string, currentSigningKey: string, nextSigningKey: string;`,
  },
};

const keyOf = ({ path, text }: Snippet): string => `${path}: ${text.split('\n')[0]}`;
const blocks: readonly Snippet[] = ALL_PAGES.flatMap((path) => pageOf(read(path)).blocks.map((block) => ({ ...block, path })));
const CODE: readonly string[] = ['ts', 'tsx', 'js', 'mjs'];
const code = blocks.filter(({ language }) => CODE.includes(language));

const OPTIONS = {
  extends: join(ROOT, 'tsconfig.base.json'),
  compilerOptions: {
    composite: false,
    declaration: false,
    declarationMap: false,
    sourceMap: false,
    noEmit: true,
    allowJs: true,
    checkJs: true,
    moduleDetection: 'force',
    // A snippet may show a name without using it.
    noUnusedLocals: false,
    noUnusedParameters: false,
  },
};

/** Compiles the snippets as one program and returns the errors: `<page>:<line>: <error>`. */
function typeErrors(snippets: readonly Snippet[]): readonly string[] {
  // Packages are resolved from parent folders.
  const cache = join(ROOT, 'node_modules', '.cache');
  mkdirSync(cache, { recursive: true });
  const directory = mkdtempSync(join(cache, 'snippets-'));
  try {
    writeFileSync(join(directory, 'package.json'), '{"type":"module"}');
    writeFileSync(join(directory, 'tsconfig.json'), JSON.stringify(OPTIONS));
    for (const [at, snippet] of snippets.entries()) {
      const { declares = '', isPart } = CONTEXTS[keyOf(snippet)] ?? {};
      const before = `${declares.replaceAll('\n', ' ')} ${isPart ? 'export async function part() {' : ''}`;
      writeFileSync(join(directory, `${at}.${snippet.language}`), `${before}\n${snippet.text}${isPart ? '}' : ''}`);
    }
    const compiler = join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc');
    const args = [compiler, '-p', '.', '--pretty', 'false'];
    const { status, stdout, stderr } = spawnSync(process.execPath, args, { cwd: directory, encoding: 'utf8' });
    const found = [...stdout.matchAll(/^(\d+)\.\w+\((\d+),\d+\): error (.*)$/gm)];
    assert.ok(status === 0 || found.length > 0, stdout + stderr);
    return found.flatMap(([, at, line, error = '']) => {
      const snippet = snippets[Number(at)];
      // JavaScript cannot declare the type of a payload.
      if (!snippet || (/js$/.test(snippet.language) && error.endsWith("on type 'unknown'."))) return [];
      return [`${snippet.path}:${snippet.line + Number(line) - 2}: ${error}`];
    });
  } finally {
    rmSync(directory, { recursive: true });
  }
}

const snippet = (language: string, text: string): Snippet => ({ path: 'page.md', line: 10, language, text });
const WRONG = [
  snippet('ts', "import { Client } from '@everstep/sdk';\nnew Client().runs.find('x');\n"),
  snippet('js', "import { serve } from '@everstep/sdk';\nserve(async (ctx) => {\n  await ctx.wait('x');\n});\n"),
];

test('every code snippet in the documentation compiles', () => {
  assert.ok(code.length > 25, `${code.length} snippets`);
  const errors = typeErrors([...code, ...WRONG]);
  assert.deepEqual(
    errors.filter((error) => !error.startsWith('page.md:')),
    [],
  );
  const wrong = errors.filter((error) => error.startsWith('page.md:')).map((error) => error.replace(/ on type .*/, ''));
  assert.deepEqual(
    wrong,
    ["page.md:11: TS2339: Property 'find' does not exist", "page.md:12: TS2339: Property 'wait' does not exist"],
    'wrong snippets are detected',
  );
  const known = new Set(code.map(keyOf));
  assert.deepEqual(
    Object.keys(CONTEXTS).filter((key) => !known.has(key)),
    [],
    'no page has these snippets',
  );
});

test('every JSON snippet in the documentation can be parsed', () => {
  const json = blocks.filter(({ language }) => language === 'json');
  assert.ok(json.length > 1);
  for (const { path, line, text } of json) assert.doesNotThrow(() => JSON.parse(text), `${path}:${line}`);
});

test('every block has a checked language or is marked as text', () => {
  // Code hosts render Mermaid.
  const known = new Set([...CODE, ...SHELLS, 'json', 'text', 'mermaid']);
  const unknown = blocks.filter(({ language }) => !known.has(language));
  assert.deepEqual(
    unknown.map(({ path, line, language }) => `${path}:${line}: ${language}`),
    [],
  );
});
