/** Reads TypeScript sources: their imports, the names that their code uses, and their texts. */
import { readdirSync, readFileSync } from 'node:fs';
import { posix } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type ESTree, parseSync, Visitor, type VisitorObject } from 'rolldown/utils';

export interface Source {
  /** Path relative to `packages/`, for example `everstep/src/engine/runs/run.ts`. */
  readonly path: string;
  readonly text: string;
}

const PACKAGES = fileURLToPath(new URL('../../../', import.meta.url));

/** Returns the files of the packages whose names match. */
export function readSources(name: RegExp): readonly Source[] {
  return readdirSync(PACKAGES).flatMap((directory) =>
    readdirSync(`${PACKAGES}/${directory}/src`, { recursive: true, encoding: 'utf8' })
      .filter((file) => name.test(file))
      .map((file) => ({
        path: `${directory}/src/${file.replaceAll('\\', '/')}`,
        text: readFileSync(`${PACKAGES}/${directory}/src/${file}`, 'utf8'),
      })),
  );
}

/** Returns the path without its extension. */
export const moduleOf = (path: string): string => path.replace(/\.tsx?$/, '');
/** Returns whether a source is a test, a fixture or a program for tests, or a benchmark. */
export const isTest = (path: string): boolean => /\.(test|fixture|bench)$|\/(testing|simulation)\/|-check$/.test(moduleOf(path));
/** Returns whether the path is the folder, or is in it. */
export const isBelow = (path: string, folder: string): boolean => path === folder || path.startsWith(`${folder}/`);

/** The last source that was parsed. It is kept because several rules examine a source one after the other. */
let lastParsed: { readonly source: Source; readonly program: ESTree.Program } | null = null;

function programOf(source: Source): ESTree.Program {
  if (lastParsed?.source !== source) {
    const { program, errors } = parseSync(source.path, source.text);
    if (errors.length > 0) throw new Error(`${source.path}: ${errors[0]?.message}`);
    lastParsed = { source, program };
  }
  return lastParsed.program;
}

/** Visits the nodes of a source, outer nodes first. Throws if the source is not valid TypeScript. */
export function visit(source: Source, visitor: VisitorObject): void {
  new Visitor(visitor).visit(programOf(source));
}

export interface Import {
  /** Path of the imported source without its extension, or name of the package. */
  readonly target: string;
  /** Imported names, except those of `import *` and of re-exports. */
  readonly names: readonly string[];
  readonly isTypeOnly: boolean;
}

const importsBySource = new WeakMap<Source, readonly Import[]>();

/** Returns the imports of a source, including those of types and those at run time. */
export function importsOf(source: Source): readonly Import[] {
  const imports = importsBySource.get(source) ?? readImports(source);
  importsBySource.set(source, imports);
  return imports;
}

function readImports(source: Source): readonly Import[] {
  const { path, text } = source;
  const imports: Import[] = [];
  const add = (from: string, isTypeOnly: boolean, names: readonly string[] = []): void => {
    const target = from.startsWith('.') ? posix.join(posix.dirname(path), from).replace(/\.(js|tsx?)$/, '') : from;
    imports.push({ target, names, isTypeOnly });
  };
  const { staticImports, staticExports } = parseSync(path, text).module;
  for (const { moduleRequest, entries } of staticImports) {
    const names = entries.flatMap(({ importName }) => importName.name ?? []);
    add(moduleRequest.value, entries.length > 0 && entries.every(({ isType }) => isType), names);
  }
  for (const { entries } of staticExports) {
    for (const { moduleRequest, isType } of entries) if (moduleRequest) add(moduleRequest.value, isType);
  }
  if (!/\b(import|require)\(/.test(text)) return imports;
  visit(source, {
    ImportExpression: ({ source: from }) => from.type === 'Literal' && add(String(from.value), false),
    TSImportType: ({ source: from }) => add(from.value, true),
    CallExpression: ({ callee, arguments: [first] }) =>
      callee.type === 'Identifier' && callee.name === 'require' && first?.type === 'Literal' && add(String(first.value), false),
  });
  return imports;
}

/** A name or construct that code uses. */
export interface Use {
  /** A name such as `setTimeout`, a member such as `Date.now`, or `new Date()`, `new Promise`, `async` or a double cast. */
  readonly name: string;
  /** Offset of the name in the text. */
  readonly start: number;
}

const GLOBAL_OBJECTS: readonly string[] = ['globalThis', 'window', 'self'];

/** Returns the names that the code of a source uses or imports. Names in comments, texts and types do not count. */
export function usesOf(source: Source): readonly Use[] {
  const uses: Use[] = [];
  const ignoredNodes = new Set<unknown>();
  const add = (name: string, { start }: { readonly start: number }): void => {
    uses.push({ name, start });
  };
  const addAsync = (node: ESTree.Function | ESTree.ArrowFunctionExpression): void => {
    if (node.async) add('async', node);
  };
  const ignoreKey = (node: { readonly key: unknown; readonly computed: boolean }): void => {
    if (!node.computed) ignoredNodes.add(node.key);
  };
  visit(source, {
    MemberExpression(node) {
      if (node.computed || node.property.type !== 'Identifier') return;
      ignoredNodes.add(node.property);
      if (node.object.type !== 'Identifier') return;
      const isGlobal = GLOBAL_OBJECTS.includes(node.object.name);
      add(isGlobal ? node.property.name : `${node.object.name}.${node.property.name}`, node);
    },
    Property: (node) => !node.shorthand && ignoreKey(node),
    MethodDefinition: ignoreKey,
    PropertyDefinition: ignoreKey,
    TSPropertySignature: ignoreKey,
    TSMethodSignature: ignoreKey,
    TSTypeQuery: ({ exprName }) => ignoredNodes.add(exprName),
    Identifier: (node) => !ignoredNodes.has(node) && add(node.name, node),
    NewExpression(node) {
      if (node.callee.type !== 'Identifier') return;
      if (node.callee.name === 'Date' && node.arguments.length === 0) add('new Date()', node);
      if (node.callee.name === 'Promise') add('new Promise', node);
    },
    FunctionDeclaration: addAsync,
    FunctionExpression: addAsync,
    ArrowFunctionExpression: addAsync,
    AwaitExpression: (node) => add('await', node),
    TSAsExpression({ expression }) {
      if (expression.type === 'TSAsExpression' && expression.typeAnnotation.type === 'TSUnknownKeyword')
        add('as unknown as', expression);
    },
  });
  return uses;
}

/** Returns the string literals of a source, including the texts of templates. */
export function textsOf(source: Source): readonly string[] {
  const texts: string[] = [];
  visit(source, {
    Literal: ({ value }) => typeof value === 'string' && texts.push(value),
    TemplateElement: ({ value }) => texts.push(value.raw),
  });
  return texts;
}

/** Returns whether the condition of a loop compares a variable with a constant, so that the loop has a fixed end. */
const isFixedCount = (test: ESTree.Expression | null): boolean =>
  test?.type === 'BinaryExpression' && test.left.type === 'Identifier' && test.right.type === 'Literal';

/** Returns the offsets at which a source sleeps for a fixed time, outside of loops that end with a condition. */
export function sleepsOf(source: Source): readonly number[] {
  if (!source.text.includes('setTimeout')) return [];
  const sleeps: number[] = [];
  const loops: { readonly start: number; readonly end: number }[] = [];
  const sleepNames = new Set<string>();
  visit(source, {
    ImportDeclaration({ source: from, specifiers }) {
      if (from.value !== 'node:timers/promises') return;
      for (const specifier of specifiers)
        if (
          specifier.type === 'ImportSpecifier' &&
          specifier.imported.type === 'Identifier' &&
          specifier.imported.name === 'setTimeout'
        )
          sleepNames.add(specifier.local.name);
    },
    WhileStatement: (node) => loops.push(node),
    DoWhileStatement: (node) => loops.push(node),
    ForStatement: (node) => !isFixedCount(node.test) && loops.push(node),
    CallExpression({ callee, start }) {
      if (callee.type === 'Identifier' && sleepNames.has(callee.name)) sleeps.push(start);
    },
    NewExpression({ callee, arguments: [executor], start }) {
      if (callee.type !== 'Identifier' || callee.name !== 'Promise' || executor?.type !== 'ArrowFunctionExpression') return;
      const [resolve] = executor.params;
      const call = executor.body;
      if (resolve?.type !== 'Identifier' || call.type !== 'CallExpression' || call.callee.type !== 'Identifier') return;
      const [callback] = call.arguments;
      if (call.callee.name === 'setTimeout' && callback?.type === 'Identifier' && callback.name === resolve.name)
        sleeps.push(start);
    },
  });
  return sleeps.filter((start) => !loops.some((loop) => loop.start <= start && start < loop.end));
}
