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

export const moduleOf = (path: string): string => path.replace(/\.tsx?$/, '');
/** Returns whether a source is not part of the server: tests, their fixtures and programs, and benchmarks. */
export const isTest = (path: string): boolean => /\.(test|fixture|bench)$|\/(testing|simulation)\/|-check$/.test(moduleOf(path));
export const below = (path: string, folder: string): boolean => path === folder || path.startsWith(`${folder}/`);

/** The last source that was parsed: several rules look at it, one after the other. */
let parsed: { readonly source: Source; readonly program: ESTree.Program } | null = null;

function programOf(source: Source): ESTree.Program {
  if (parsed?.source !== source) {
    const { program, errors } = parseSync(source.path, source.text);
    if (errors.length > 0) throw new Error(`${source.path}: ${errors[0]?.message}`);
    parsed = { source, program };
  }
  return parsed.program;
}

/** Visits the nodes of a source, outer nodes first. Throws when it is not valid TypeScript. */
export function visit(source: Source, visitor: VisitorObject): void {
  new Visitor(visitor).visit(programOf(source));
}

export interface Import {
  /** Path of the imported source without its extension, or name of the package. */
  readonly target: string;
  /** Names that are imported, without those of `import *` and of re-exports. */
  readonly names: readonly string[];
  readonly typesOnly: boolean;
}

const known = new WeakMap<Source, readonly Import[]>();

/** Returns the imports of a source, including those of types and those at run time. */
export function importsOf(source: Source): readonly Import[] {
  const found = known.get(source) ?? readImports(source);
  known.set(source, found);
  return found;
}

function readImports(source: Source): readonly Import[] {
  const { path, text } = source;
  const found: Import[] = [];
  const add = (from: string, typesOnly: boolean, names: readonly string[] = []): void => {
    const target = from.startsWith('.') ? posix.join(posix.dirname(path), from).replace(/\.(js|tsx?)$/, '') : from;
    found.push({ target, names, typesOnly });
  };
  const { staticImports, staticExports } = parseSync(path, text).module;
  for (const { moduleRequest, entries } of staticImports) {
    const names = entries.flatMap(({ importName }) => importName.name ?? []);
    add(moduleRequest.value, entries.length > 0 && entries.every(({ isType }) => isType), names);
  }
  for (const { entries } of staticExports) {
    for (const { moduleRequest, isType } of entries) if (moduleRequest) add(moduleRequest.value, isType);
  }
  if (!/\b(import|require)\(/.test(text)) return found;
  visit(source, {
    ImportExpression: ({ source: from }) => from.type === 'Literal' && add(String(from.value), false),
    TSImportType: ({ source: from }) => add(from.value, true),
    CallExpression: ({ callee, arguments: [first] }) =>
      callee.type === 'Identifier' && callee.name === 'require' && first?.type === 'Literal' && add(String(first.value), false),
  });
  return found;
}

export interface Use {
  /** A name (`setTimeout`), a member of one (`Date.now`), `new Date()`, `new Promise`, `async`, `await` or `as unknown as`. */
  readonly name: string;
  /** Offset of the name in the text. */
  readonly start: number;
}

const GLOBAL_OBJECTS: readonly string[] = ['globalThis', 'window', 'self'];

/** Returns the names that the code of a source uses or imports. Names in comments, texts and types do not count. */
export function usesOf(source: Source): readonly Use[] {
  const found: Use[] = [];
  const notUses = new Set<unknown>();
  const add = (name: string, { start }: { readonly start: number }): void => {
    found.push({ name, start });
  };
  const addAsync = (node: ESTree.Function | ESTree.ArrowFunctionExpression): void => {
    if (node.async) add('async', node);
  };
  const key = (node: { readonly key: unknown; readonly computed: boolean }): void => {
    if (!node.computed) notUses.add(node.key);
  };
  visit(source, {
    MemberExpression(node) {
      if (node.computed || node.property.type !== 'Identifier') return;
      notUses.add(node.property);
      if (node.object.type !== 'Identifier') return;
      const isGlobal = GLOBAL_OBJECTS.includes(node.object.name);
      add(isGlobal ? node.property.name : `${node.object.name}.${node.property.name}`, node);
    },
    Property: (node) => !node.shorthand && key(node),
    MethodDefinition: key,
    PropertyDefinition: key,
    TSPropertySignature: key,
    TSMethodSignature: key,
    TSTypeQuery: ({ exprName }) => notUses.add(exprName),
    Identifier: (node) => !notUses.has(node) && add(node.name, node),
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
  return found;
}

/** Returns the texts in the code of a source, including those around `${}`. */
export function textsOf(source: Source): readonly string[] {
  const found: string[] = [];
  visit(source, {
    Literal: ({ value }) => typeof value === 'string' && found.push(value),
    TemplateElement: ({ value }) => found.push(value.raw),
  });
  return found;
}

/** Returns whether a loop ends after a fixed number of iterations. */
const counts = (test: ESTree.Expression | null): boolean =>
  test?.type === 'BinaryExpression' && test.left.type === 'Identifier' && test.right.type === 'Literal';

/** Returns the offsets at which a source sleeps for a fixed time, outside of loops that end with a condition. */
export function sleepsOf(source: Source): readonly number[] {
  if (!source.text.includes('setTimeout')) return [];
  const sleeps: number[] = [];
  const loops: { readonly start: number; readonly end: number }[] = [];
  const pauses = new Set<string>();
  visit(source, {
    ImportDeclaration({ source: from, specifiers }) {
      if (from.value !== 'node:timers/promises') return;
      for (const one of specifiers)
        if (one.type === 'ImportSpecifier' && one.imported.type === 'Identifier' && one.imported.name === 'setTimeout')
          pauses.add(one.local.name);
    },
    WhileStatement: (node) => loops.push(node),
    DoWhileStatement: (node) => loops.push(node),
    ForStatement: (node) => !counts(node.test) && loops.push(node),
    CallExpression({ callee, start }) {
      if (callee.type === 'Identifier' && pauses.has(callee.name)) sleeps.push(start);
    },
    NewExpression({ callee, arguments: [executor], start }) {
      if (callee.type !== 'Identifier' || callee.name !== 'Promise' || executor?.type !== 'ArrowFunctionExpression') return;
      const [resolve] = executor.params;
      const call = executor.body;
      if (resolve?.type !== 'Identifier' || call.type !== 'CallExpression' || call.callee.type !== 'Identifier') return;
      const [fired] = call.arguments;
      if (call.callee.name === 'setTimeout' && fired?.type === 'Identifier' && fired.name === resolve.name) sleeps.push(start);
    },
  });
  return sleeps.filter((start) => !loops.some((loop) => loop.start <= start && start < loop.end));
}
